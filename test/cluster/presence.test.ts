import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { type Caller, join as joinServer, makeBot, makePeople, makePerson, makeServer, type Place } from '../harness/factories.ts';
import { type RedisCluster, startRedisCluster } from '../harness/redis-cluster.ts';
import { until } from '../harness/scene.ts';
import { type Ear, listenAs, startNode, startWhole, type TestNode, type Whole } from '../harness/whole.ts';

describe('Redis Cluster: presence', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'parlance-cluster-'));
  const ears: Ear[] = [];
  let redis: RedisCluster;
  let whole: Whole;
  let far: TestNode;
  let owner: Caller;
  let server: Place;
  let people: Caller[];
  before(async () => {
    redis = await startRedisCluster(folder);
    whole = await startWhole({ REDIS_URL: redis.url, LOG_LEVEL: 'silent', STORE_PATIENCE: '2' });
    far = await startNode(whole.platform.config);
    owner = await makePerson(whole);
    server = await makeServer(whole, owner);
    people = await makePeople(whole, 20);
    for (const one of people) await joinServer(whole, owner, server.id, one);
  });
  after(async () => {
    await Promise.all(ears.map(({ client }) => client.close()));
    await far?.close();
    await whole?.close();
    await redis?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const setStatus = async ({ token }: Caller, status: string): Promise<void> => {
    const patch = (): Promise<{ status: number }> =>
      whole.call('PATCH', '/api/users/@me/presence', { as: `Bearer ${token}`, body: { status } });
    while ((await patch().catch(() => null))?.status !== 200) await pause(50);
  };
  const statusesIn = ({ heard }: Ear, { id }: Caller): unknown[] =>
    heard.flatMap(({ t, d }) => (t === 'PRESENCE_UPDATE' && d.userId === id ? [d.status] : []));

  it('of accounts in all partitions reaches watchers and bots, each change once, also after a master was killed', async () => {
    const bot = await makeBot(whole, owner, server.id);
    const watcher = await listenAs(far, owner.token, undefined, true);
    ears.push(watcher, await listenAs(far, bot.token, ['PRESENCE_UPDATE'], true));
    expect(await watcher.client.watch(people.map(({ id }) => id))).to.have.length(people.length);
    const listeners = [...ears];
    for (const one of people) ears.push(await listenAs(whole, one.token, undefined, true));
    await until(() => listeners.every((ear) => people.every((one) => statusesIn(ear, one).length === 1)), 'all to be online');
    for (const ear of listeners) for (const one of people) expect(statusesIn(ear, one)).to.deep.equal(['online']);
    const [subject] = people as [Caller];
    const { REDIS_PREFIX, LOG_PARTITIONS } = whole.platform.config;
    const keys = createKeys(REDIS_PREFIX, LOG_PARTITIONS);
    const findMaster = () => redis.masterOf(keys.partition(keys.partitionOfAccount(subject.id)));
    const master = await findMaster();
    await master.kill();
    while ((await findMaster()) === master) await pause(20);
    await setStatus(subject, 'dnd');
    await until(() => statusesIn(watcher, subject).at(-1) === 'dnd', 'the change to arrive');
    await master.start();
    await redis.healthy();
  });
});
