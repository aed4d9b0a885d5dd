import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { join as joinServer, makeBot, makePeople, makePerson, makeServer } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type EventRecorder, recordEvents, startNode, startParlance } from '../harness/parlance.ts';
import { startRedisCluster } from '../harness/redis-cluster.ts';
import type { Caller } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';

describe('Redis Cluster: presence', () => {
  const redis = use(() => startRedisCluster());
  const parlance = use(() => startParlance({ REDIS_URL: redis.url, LOG_LEVEL: 'silent', STORE_TIMEOUT_FACTOR: '2' }));
  const otherNode = use(() => startNode(parlance.platform.config));
  const recorders = use(async () => {
    const all: EventRecorder[] = [];
    return { all, close: () => Promise.all(all.map(({ client }) => client.close())) };
  });
  const owner = make(() => makePerson(parlance));
  const server = make(() => makeServer(parlance, owner));

  const setStatus = async ({ token }: Caller, status: string): Promise<void> => {
    const patch = (): Promise<{ status: number }> =>
      parlance.call('PATCH', '/api/users/@me/presence', { as: `Bearer ${token}`, body: { status } });
    while ((await patch().catch(() => null))?.status !== 200) await pause(50);
  };
  const statusesIn = ({ received }: EventRecorder, { id }: Caller): unknown[] =>
    received.flatMap(({ t, d }) => (t === 'PRESENCE_UPDATE' && d.userId === id ? [d.status] : []));

  it('sends presences of accounts in all partitions once to watchers and bots, also after a master was killed', async () => {
    const people = await makePeople(parlance, 20);
    for (const one of people) await joinServer(parlance, owner, server.id, one);
    const bot = await makeBot(parlance, owner, server.id);
    const watcher = await recordEvents(otherNode, owner.token, undefined, true);
    recorders.all.push(watcher, await recordEvents(otherNode, bot.token, ['PRESENCE_UPDATE'], true));
    expect(await watcher.client.watch(people.map(({ id }) => id))).to.have.length(people.length);
    const observers = [...recorders.all];
    for (const one of people) recorders.all.push(await recordEvents(parlance, one.token, undefined, true));
    await waitUntil(
      () => observers.every((recorder) => people.every((one) => statusesIn(recorder, one).length === 1)),
      'all people are online',
    );
    for (const recorder of observers) for (const one of people) expect(statusesIn(recorder, one)).to.deep.equal(['online']);
    const [subject] = people as [Caller];
    const { REDIS_PREFIX, LOG_PARTITIONS } = parlance.platform.config;
    const keys = createKeys(REDIS_PREFIX, LOG_PARTITIONS);
    const findMaster = () => redis.masterOf(keys.partitionPrefix(keys.partitionOfAccount(subject.id)));
    const master = await findMaster();
    await master.kill();
    while ((await findMaster()) === master) await pause(20);
    await setStatus(subject, 'dnd');
    await waitUntil(() => statusesIn(watcher, subject).at(-1) === 'dnd', 'the change arrives');
    await master.start();
    await redis.healthy();
  });
});
