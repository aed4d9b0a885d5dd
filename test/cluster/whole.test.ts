import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform, openOpsPlatform } from '../../lib/store/platform.ts';
import { createKeys, type Keys } from '../../lib/store/redis/log/keys.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { interceptNext } from '../harness/intercept.ts';
import type { SeededServer } from '../harness/seed.ts';
import { use } from '../harness/use.ts';
import { type Listener, startClusterFixture } from './fixture.ts';

describe('Redis Cluster: all roles', () => {
  const fixture = use(() => startClusterFixture());
  let keys: Keys;
  let seeded: SeededServer;
  let owner: Listener;
  let bot: Listener;
  before(() => {
    const { REDIS_PREFIX, LOG_PARTITIONS } = fixture.parlance.platform.config;
    keys = createKeys(REDIS_PREFIX, LOG_PARTITIONS);
    seeded = fixture.servers[0] as SeededServer;
    [owner, bot] = fixture.listeners as [Listener, Listener];
  });

  const asOwner = (): string => `Bearer ${seeded.ownerToken}`;
  const eventOf = async ({ events }: Listener, name: string, isWanted: (d: Record<string, unknown>) => boolean) => {
    const find = () => events.find(({ t, d }) => t === name && isWanted(d));
    await waitUntil(() => find() !== undefined, name);
    return find()?.d as Record<string, unknown>;
  };

  it('spreads 16 partitions evenly over the masters, and posts reach people and bots in all of them', async () => {
    expect(keys.partitions).to.equal(16);
    const served = new Map<number, number>();
    for (let k = 0; k < keys.partitions; k++) {
      const { port } = await fixture.redis.masterOf(keys.partitionPrefix(k));
      served.set(port, (served.get(port) ?? 0) + 1);
    }
    // A partition whose slots are of two masters is on either.
    expect(served.size).to.equal(3);
    for (const count of served.values()) expect(count).to.be.within(4, 6);
    const { posted, invalidated } = await fixture.postDuring(() => Promise.resolve());
    expect([posted >= fixture.servers.length, invalidated]).to.deep.equal([true, 0]);
  });

  it('sessions resume on the other node without a lost event', async () => {
    const resumes = (): number => fixture.listeners.reduce((sum, { client }) => sum + client.stats.resumes, 0);
    const before = resumes();
    const { invalidated } = await fixture.postDuring(async () => {
      for (const { client } of fixture.listeners) client.cut();
      await waitUntil(() => resumes() === before + fixture.listeners.length, 'all sessions resume');
    });
    expect(invalidated).to.equal(0);
  });

  it('a command reaches its bot, and the response reaches everybody', async () => {
    const commands = `/api/applications/${seeded.bots[0]?.applicationId}/commands`;
    const saved = await fixture.parlance.call<{ id: string }[]>('PUT', commands, {
      as: `Bot ${seeded.bots[0]?.token}`,
      body: [{ name: 'hello', description: 'Says hello.' }],
    });
    const invoke = `/api/channels/${seeded.channelIds[0]}/commands/${saved.body[0]?.id}/invoke`;
    const { body } = await fixture.parlance.call<{ id: string }>('POST', invoke, { as: asOwner(), body: {} });
    const { token } = await eventOf(bot, 'INTERACTION_CREATE', ({ id }) => id === body.id);
    const answer = await fixture.parlance.call<{ id: string }>('POST', `/api/interactions/${body.id}/${String(token)}/callback`, {
      body: { type: 'message', content: 'Hello!' },
    });
    expect(answer.status).to.equal(201);
    for (const one of [owner, bot]) await eventOf(one, 'MESSAGE_CREATE', ({ id }) => id === answer.body.id);
    await eventOf(owner, 'INTERACTION_UPDATE', ({ id, state }) => id === body.id && state === 'answered');
  });

  it('two API processes share the rate limit of a caller', async () => {
    const { config } = fixture.parlance.platform;
    const other = await openApiPlatform(config, createLog('api', 'silent'));
    try {
      const bucket = { key: owner.accountId, perSecond: 0.001, burst: 4 };
      const allowed: unknown[] = [];
      for (let n = 0; n < 6; n++) {
        const { preflight } = n % 2 === 0 ? fixture.parlance.platform : other;
        const { decision, versions } = await preflight({ bucket, versionsOf: [owner.accountId, seeded.serverId], needsId: false });
        allowed.push(decision?.isAllowed);
        expect(versions).to.deep.equal(await other.accessVersions.read([owner.accountId, seeded.serverId]));
      }
      expect(allowed).to.deep.equal([true, true, true, true, false, false]);
    } finally {
      await other.close();
    }
  });

  it('shows connected accounts of all nodes as online', async () => {
    const path = `/api/servers/${seeded.serverId}/members`;
    const statuses = async (): Promise<string[]> =>
      (await fixture.parlance.call<{ status: string }[]>('GET', path, { as: asOwner() })).body.map(({ status }) => status);
    expect(await statuses()).to.deep.equal(['online', 'online']);
    expect(await fixture.parlance.platform.connections.listConnected()).to.have.length(fixture.listeners.length);
  });

  it('retries a failed job', async () => {
    let failures = 0;
    interceptNext(fixture.parlance.worker.eventLog, 'append', () => {
      failures++;
      return Promise.reject(new Error('the first attempt fails'));
    });
    const id = await fixture.post(seeded, 'second attempt');
    await eventOf(bot, 'MESSAGE_CREATE', (d) => d.id === id);
    expect(failures).to.equal(1);
  });

  it('a log that was taken over by another Redis node starts a new epoch before the next append, and ends no session', async () => {
    const at = fixture.logKey(seeded.serverId);
    const { redis } = await fixture.redis.masterOf(at);
    const before = Number(await redis.hget(`${at}state`, 'epoch'));
    // The epoch is still the one that the worker knows, and only the node differs.
    await redis.hset(`${at}state`, 'node', 'another');
    const { invalidated } = await fixture.postDuring(() => Promise.resolve());
    expect([Number(await redis.hget(`${at}state`, 'epoch')), invalidated]).to.deep.equal([before + 1, 0]);
  });

  it('the ops platform reads the queues, the processes and the state of every master', async () => {
    const { config } = fixture.parlance.platform;
    const ops = await openOpsPlatform(config, createLog('ops', 'silent'));
    try {
      await ops.pingRedis();
      expect(await ops.readRedisInfo()).to.deep.include({ evictionPolicy: 'noeviction', appendOnly: true });
      const address = { name: 'api:test', url: 'http://127.0.0.1:1' };
      await fixture.parlance.platform.registerProcess(address);
      expect(await ops.listProcesses()).to.deep.equal([address]);
      expect(await Promise.all(ops.queues.map((queue) => queue.getJobCountByTypes('failed')))).to.deep.equal(ops.queues.map(() => 0));
    } finally {
      await ops.close();
    }
  });
});
