import { expect } from 'chai';
import { testConfig } from '../harness/stores.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';
import { makeWorld, type World } from '../harness/world.ts';

/** A store goes away under running processes, and comes back (docs/guarantees.md#p10-degraded-operation). */
describe('a store away', () => {
  let mongo: TcpProxy;
  let redis: TcpProxy;
  let whole: Whole;
  let world: World;
  let bot: Ear;
  let path: string;

  before(async () => {
    const { MONGODB_URL, REDIS_URL } = testConfig();
    [mongo, redis] = await Promise.all([startTcpProxy(MONGODB_URL, 27017), startTcpProxy(REDIS_URL, 6379)]);
    whole = await startWhole({ MONGODB_URL: mongo.url, REDIS_URL: redis.url, LOG_LEVEL: 'silent', STORE_PATIENCE: '1' });
    world = await makeWorld(whole.platform, { bots: 1, channels: 1 });
    path = `/api/channels/${world.channelIds[0]}/messages`;
    bot = await listenAs(whole, String(world.bots[0]?.token));
  });
  after(async () => {
    await bot?.client.close();
    await whole?.close();
    await Promise.all([mongo.close(), redis.close()]);
  });

  const as = (): string => `Bot ${world.bots[0]?.token}`;
  const post = (content: string, key: string) =>
    whole.call<{ id: string; code?: string; retryAfter?: number }>('POST', path, {
      as: as(),
      body: { content },
      headers: { 'Idempotency-Key': key },
    });
  const postUntilTaken = async (content: string, key: string): Promise<string> => {
    for (;;) {
      const answer = await post(content, key);
      if (answer.status === 201) return answer.body.id;
      expect([503, 409]).to.include(answer.status);
    }
  };
  const hears = (id: string) => bot.hears((event) => event.t === 'MESSAGE_CREATE' && event.d.id === id);

  for (const how of ['cut', 'freeze'] as const)
    it(`the database ${how}: 503 unavailable, never a 2xx; it recovers by itself and nothing is doubled`, async () => {
      await hears(await postUntilTaken('before', `${how}-before`));
      mongo[how]();
      const answer = await post('during', `${how}-during`);
      expect([answer.status, answer.body.code]).to.deep.equal([503, 'unavailable']);
      expect(answer.headers.get('Retry-After')).to.equal('1');
      expect((await whole.call('GET', path, { as: as() })).status).to.equal(503);
      mongo.mend();
      // A post that froze may stand or not: only its own key tells, 30 s later. One that was cut off is repeated under its key.
      const id = await postUntilTaken('after', `${how}-after`);
      await hears(id);
      if (how === 'freeze') return;
      await postUntilTaken('during', 'cut-during');
      await postUntilTaken('during', 'cut-during');
      const listed = await whole.call<{ content: string }[]>('GET', path, { as: as() });
      expect(listed.body.filter((one) => one.content === 'during').length).to.equal(1);
    });

  it('Redis cut: reads and posts still work, and the events come when it is back, in order', async () => {
    redis.cut();
    const ids: string[] = [];
    for (const content of ['one', 'two', 'three']) {
      const answer = await post(content, `redis-${content}`);
      expect(answer.status).to.equal(201);
      ids.push(answer.body.id);
    }
    const listed = await whole.call<{ id: string }[]>('GET', `${path}?limit=3`, { as: as() });
    expect(listed.body.map((one) => one.id)).to.deep.equal(ids);
    redis.mend();
    for (const id of ids) await hears(id);
    const order = bot.heard.filter((event) => ids.includes(String(event.d.id))).map((event) => event.d.id);
    expect(order).to.deep.equal(ids);
  });
});
