import { expect } from 'chai';
import { Cluster } from 'ioredis';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform, openOpsPlatform } from '../../lib/store/platform.ts';
import { createKeys, type Keys } from '../../lib/store/redis/log/keys.ts';
import { startTestApi, startTestApiWithWorker } from '../harness/api.ts';
import { join as joinServer, makeBot, makePeople, makePerson, makeServer } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { interceptNext } from '../harness/intercept.ts';
import { consumeJobs } from '../harness/jobs.ts';
import { type EventRecorder, recordEvents, type TestNode } from '../harness/parlance.ts';
import type { Caller } from '../harness/requests.ts';
import type { SeededServer } from '../harness/seed.ts';
import { use } from '../harness/use.ts';
import { type Listener, startClusterFixture } from './fixture.ts';

type ReadyCheck = (this: object, done: (error: null, fault: string | null) => void) => void;

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

  it('sends presences of accounts in all partitions once to watchers and bots, also after a master was killed', async () => {
    const { parlance, nodes, redis } = fixture;
    const [node, otherNode] = nodes as [TestNode, TestNode];
    const person = await makePerson(parlance);
    const { id } = await makeServer(parlance, person);
    const people = await makePeople(parlance, 20);
    for (const one of people) await joinServer(parlance, person, id, one);
    const watcher = await recordEvents(otherNode, person.token, undefined, true);
    const listener = await recordEvents(otherNode, (await makeBot(parlance, person, id)).token, ['PRESENCE_UPDATE'], true);
    const observers = [watcher, listener];
    expect(await watcher.client.watch(people.map((one) => one.id))).to.have.length(people.length);
    const recorders = [...observers];
    for (const one of people) recorders.push(await recordEvents(node, one.token, undefined, true));
    const statusesIn = ({ received }: EventRecorder, one: Caller): unknown[] =>
      received.flatMap(({ t, d }) => (t === 'PRESENCE_UPDATE' && d.userId === one.id ? [d.status] : []));
    await waitUntil(
      () => observers.every((recorder) => people.every((one) => statusesIn(recorder, one).length === 1)),
      'all people are online',
    );
    for (const recorder of observers) for (const one of people) expect(statusesIn(recorder, one)).to.deep.equal(['online']);
    const [subject] = people as [Caller];
    const findMaster = () => redis.masterOf(keys.partitionPrefix(keys.partitionOfAccount(subject.id)));
    const master = await findMaster();
    await master.kill();
    await waitUntil(async () => (await findMaster()) !== master, 'another master serves the account');
    const patch = () => parlance.call('PATCH', '/api/users/@me/presence', { as: subject.as, body: { status: 'dnd' } });
    await waitUntil(async () => (await patch().catch(() => null))?.status === 200, 'the change is accepted');
    await waitUntil(() => statusesIn(watcher, subject).at(-1) === 'dnd', 'the change arrives');
    await master.start();
    await redis.healthy();
    await Promise.all(recorders.map(({ client }) => client.close()));
  });

  it('consumers serve every queue, and close, although the cluster was not ready when they connected', async () => {
    const api = await startTestApiWithWorker(() => startTestApi({ REDIS_URL: fixture.redis.url }));
    const prototype = Cluster.prototype as unknown as { readyCheck: ReadyCheck };
    const { readyCheck } = prototype;
    const checked = new WeakSet<object>();
    // As during a failover: the first check of each connection finds that the cluster does not serve all slots.
    prototype.readyCheck = function (done) {
      if (checked.has(this)) return readyCheck.call(this, done);
      checked.add(this);
      done(null, 'fail');
    };
    try {
      let hasRun = false;
      const expire = async (): Promise<void> => {
        hasRun = true;
      };
      const consumers = consumeJobs(api.worker, { 'expire-interaction': expire });
      await api.platform.jobs.enqueue('expire-interaction', { interactionId: api.platform.ids.next() });
      await waitUntil(() => hasRun, 'the job has run');
      await consumers.close();
    } finally {
      prototype.readyCheck = readyCheck;
      await api.close();
    }
  });
});
