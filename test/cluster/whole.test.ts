import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform, openOpsPlatform } from '../../lib/store/platform.ts';
import { createKeys, type Keys } from '../../lib/store/redis/log/keys.ts';
import { around } from '../harness/around.ts';
import { until } from '../harness/scene.ts';
import type { World } from '../harness/world.ts';
import { type ClusterFixture, type Listener, startClusterFixture } from './fixture.ts';

describe('Redis Cluster: the whole product', function () {
  this.timeout(120_000);
  let fixture: ClusterFixture;
  let keys: Keys;
  let world: World;
  let owner: Listener;
  let bot: Listener;
  before(async () => {
    fixture = await startClusterFixture();
    const { REDIS_PREFIX, LOG_PARTITIONS } = fixture.whole.platform.config;
    keys = createKeys(REDIS_PREFIX, LOG_PARTITIONS);
    world = fixture.worlds[0] as World;
    [owner, bot] = fixture.listeners as [Listener, Listener];
  });
  after(() => fixture?.close());

  const asOwner = (): string => `Bearer ${world.ownerToken}`;
  const eventOf = async ({ events }: Listener, name: string, isWanted: (d: Record<string, unknown>) => boolean) => {
    const find = () => events.find(({ t, d }) => t === name && isWanted(d));
    await until(() => find() !== undefined, name);
    return find()?.d as Record<string, unknown>;
  };

  it('has 16 partitions, about as many on each master, and posts reach people and bots in all of them', async () => {
    expect(keys.partitions).to.equal(16);
    const served = new Map<number, number>();
    for (let k = 0; k < keys.partitions; k++) {
      const { port } = await fixture.redis.masterOf(keys.partition(k));
      served.set(port, (served.get(port) ?? 0) + 1);
    }
    expect([...served.values()].toSorted((a, b) => a - b)).to.deep.equal([5, 5, 6]);
    const { posted, invalidated } = await fixture.postDuring(() => Promise.resolve());
    expect([posted >= fixture.worlds.length, invalidated]).to.deep.equal([true, 0]);
  });

  it('sessions resume on the other node, and miss nothing', async () => {
    const resumes = (): number => fixture.listeners.reduce((sum, { client }) => sum + client.stats.resumes, 0);
    const before = resumes();
    const { invalidated } = await fixture.postDuring(async () => {
      for (const { client } of fixture.listeners) client.cut();
      await until(() => resumes() === before + fixture.listeners.length, 'everybody resumes');
    });
    expect(invalidated).to.equal(0);
  });

  it('a command reaches its bot, and the answer everybody', async () => {
    const commands = `/api/applications/${world.bots[0]?.applicationId}/commands`;
    const saved = await fixture.whole.call<{ id: string }[]>('PUT', commands, {
      as: `Bot ${world.bots[0]?.token}`,
      body: [{ name: 'hello', description: 'Says hello.' }],
    });
    const invoke = `/api/channels/${world.channelIds[0]}/commands/${saved.body[0]?.id}/invoke`;
    const { body } = await fixture.whole.call<{ id: string }>('POST', invoke, { as: asOwner(), body: {} });
    const { token } = await eventOf(bot, 'INTERACTION_CREATE', ({ id }) => id === body.id);
    const answer = await fixture.whole.call<{ id: string }>('POST', `/api/interactions/${body.id}/${String(token)}/callback`, {
      body: { type: 'message', content: 'Hello!' },
    });
    expect(answer.status).to.equal(201);
    for (const one of [owner, bot]) await eventOf(one, 'MESSAGE_CREATE', ({ id }) => id === answer.body.id);
    await eventOf(owner, 'INTERACTION_UPDATE', ({ id, state }) => id === body.id && state === 'answered');
  });

  it('two API processes count the requests of a caller together', async () => {
    const { config } = fixture.whole.platform;
    const other = await openApiPlatform(config, createLog('api', 'silent'));
    try {
      const bucket = { key: owner.accountId, perSecond: 0.001, burst: 4 };
      const allowed: unknown[] = [];
      for (let n = 0; n < 6; n++) {
        const { gate } = n % 2 === 0 ? fixture.whole.platform : other;
        const { verdict, versions } = await gate({ bucket, versionsOf: [owner.accountId, world.serverId], wantId: false });
        allowed.push(verdict?.allowed);
        expect(versions).to.deep.equal(await other.versions.read([owner.accountId, world.serverId]));
      }
      expect(allowed).to.deep.equal([true, true, true, true, false, false]);
    } finally {
      await other.close();
    }
  });

  it('shows who is connected, on whichever node', async () => {
    const path = `/api/servers/${world.serverId}/members`;
    const statuses = async (): Promise<string[]> =>
      (await fixture.whole.call<{ status: string }[]>('GET', path, { as: asOwner() })).body.map(({ status }) => status);
    expect(await statuses()).to.deep.equal(['online', 'online']);
    expect(await fixture.whole.platform.connectedNow()).to.have.length(fixture.listeners.length);
  });

  it('a job that failed is tried again', async () => {
    let failures = 0;
    around(fixture.whole.worker, 'append', () => {
      failures++;
      return Promise.reject(new Error('the first attempt fails'));
    });
    const id = await fixture.post(world, 'at the second attempt');
    await eventOf(bot, 'MESSAGE_CREATE', (d) => d.id === id);
    expect(failures).to.equal(1);
  });

  it('a log that another node has taken over begins an epoch before anything is appended, and ends no session', async () => {
    const at = fixture.logKey(world.serverId);
    const { redis } = await fixture.redis.masterOf(at);
    const before = Number(await redis.hget(`${at}state`, 'epoch'));
    // The run is still the one that the worker knows: only the node tells.
    await redis.hset(`${at}state`, 'node', 'another');
    const { invalidated } = await fixture.postDuring(() => Promise.resolve());
    expect([Number(await redis.hget(`${at}state`, 'epoch')), invalidated]).to.deep.equal([before + 1, 0]);
  });

  it('the operators read the queues, the measurements and the state of every master', async () => {
    const { config } = fixture.whole.platform;
    const ops = await openOpsPlatform(config, createLog('ops', 'silent'));
    try {
      await ops.pingRedis();
      expect(await ops.redisFacts()).to.deep.include({ evictionPolicy: 'noeviction', appendOnly: true });
      await fixture.whole.platform.feedMetrics('api:test', '[]');
      expect(await ops.readMetricsFeeds()).to.deep.equal(['[]']);
      expect(await Promise.all(ops.queues.map((queue) => queue.getJobCountByTypes('failed')))).to.deep.equal(ops.queues.map(() => 0));
    } finally {
      await ops.close();
    }
  });
});
