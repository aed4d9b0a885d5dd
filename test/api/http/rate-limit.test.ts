import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { until } from '../../harness/scene.ts';
import { testConfig } from '../../harness/stores.ts';
import { startTcpProxy, type TcpProxy } from '../../harness/tcp-proxy.ts';
import { makeWorld, type World } from '../../harness/world.ts';

const headersOf = ({ headers }: Answer) => ({
  limit: Number(headers.get('X-RateLimit-Limit')),
  remaining: Number(headers.get('X-RateLimit-Remaining')),
  resetAfter: Number(headers.get('X-RateLimit-Reset-After')),
  bucket: headers.get('X-RateLimit-Bucket'),
});
const times = <T>(count: number, run: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, run));
const passed = (answers: readonly Answer[]): number => answers.filter((one) => one.status < 400).length;
const refusedOf = (answers: readonly Answer[]): Answer[] => answers.filter((one) => one.status === 429);

describe('rate limits', () => {
  /** 2 a second with a burst of 10: slow enough to see, also on a busy machine. */
  const rate = { RATE_LIMIT: '2/10' };
  /** Sends so many at once, and says how many may have passed: the burst, and what came back meanwhile. */
  const burst = async (count: number, run: () => Promise<Answer>, [perSecond, size]: [number, number] = [2, 10]) => {
    const began = performance.now();
    const answers = await times(count, run);
    return { answers, most: size + Math.ceil(((performance.now() - began) / 1000) * perSecond) };
  };
  let api: TestApi;
  let twin: TestApi;
  let world: World;
  let next = 0;
  /** A caller whose bucket nobody has touched. */
  const freshCaller = (): { as: string } => ({ as: `Bot ${world.bots[next++]?.token}` });

  before(async () => {
    api = await startTestApi(rate);
    const { MONGODB_URL, REDIS_PREFIX } = api.platform.config;
    twin = await startTestApi({ ...rate, MONGODB_URL, REDIS_PREFIX });
    world = await makeWorld(api.platform, { bots: 12, channels: 1 });
  });
  after(() => Promise.all([api.close(), twin.close()]));

  const list = (from: TestApi, caller: { as?: string }) => from.call('GET', `/api/channels/${world.channelIds[0]}/messages`, caller);

  it('a burst passes, what is beyond is 429, and headers, body and the real wait agree', async () => {
    const caller = freshCaller();
    const { answers, most } = await burst(20, () => list(api, caller));
    expect(passed(answers)).to.be.within(10, most);
    const [refused] = refusedOf(answers) as [Answer];
    const { code, retryAfter, requestId } = refused.body;
    expect(code).to.equal('rate_limited');
    expect(requestId).to.be.a('string');
    expect(retryAfter).to.be.a('number').and.within(0.001, 0.5);
    expect(refused.headers.get('Retry-After')).to.equal('1');
    expect(headersOf(refused)).to.include({ limit: 10, remaining: 0, bucket: 'caller' });
    expect(headersOf(refused).resetAfter).to.be.within(4.5, 5);
    await pause(Number(retryAfter) * 1000 + 5);
    expect((await list(api, caller)).status).to.equal(200);
  });

  it('a wait shorter than retryAfter is not enough', async () => {
    const caller = freshCaller();
    let began = 0;
    let refused: Answer | undefined;
    while (!refused) {
      began = performance.now();
      [refused] = refusedOf(await times(12, () => list(api, caller)));
    }
    const endsAt = began + Number(refused.body.retryAfter) * 1000;
    for (;;) {
      const { status } = await list(api, caller);
      if (performance.now() >= endsAt) break;
      expect(status).to.equal(429);
      await pause(50);
    }
  });

  it('remaining counts down and the bucket fills again by 2 a second', async () => {
    const caller = freshCaller();
    const first = headersOf(await list(api, caller));
    expect(first).to.include({ limit: 10, remaining: 9, bucket: 'caller' });
    expect(first.resetAfter).to.be.within(0.4, 0.5);
    await times(5, () => list(api, caller));
    const before = headersOf(await list(api, caller));
    await pause(1_100);
    const after = headersOf(await list(api, caller));
    expect(after.remaining - before.remaining).to.be.at.least(1); // 2.2 or more came back, this request took one
  });

  it('every authenticated answer carries the headers, refusals too', async () => {
    const caller = freshCaller();
    for (const path of ['/api/channels/1/messages', `/api/channels/${world.channelIds[0]}/messages?limit=0`]) {
      const answer = await api.call('GET', path, caller);
      expect(answer.status).to.be.within(400, 404);
      expect(headersOf(answer)).to.include({ limit: 10, bucket: 'caller' });
    }
  });

  it('two nodes share one limiter', async () => {
    const caller = freshCaller();
    let turn = 0;
    const { answers, most } = await burst(24, () => list(turn++ % 2 ? api : twin, caller));
    expect(passed(answers)).to.be.within(10, most);
  });

  it('callers do not share a bucket', async () => {
    const [one, other] = [freshCaller(), freshCaller()];
    await times(20, () => list(api, one));
    expect((await list(api, other)).status).to.equal(200);
  });

  it('without a caller it is two fifths, by address; a wrong token counts there', async () => {
    const { answers, most } = await burst(12, () => api.call('GET', '/api/gateway'), [0.8, 4]);
    expect(headersOf(answers[0] as Answer)).to.include({ limit: 4, bucket: 'address' });
    expect(passed(answers)).to.be.within(4, most);
    const wrong = await list(api, { as: 'Bot nothing' });
    expect(headersOf(wrong)).to.include({ limit: 4, bucket: 'address' });
  });

  it('a request that was refused costs nothing', async () => {
    const caller = freshCaller();
    await times(40, () => list(api, caller));
    await pause(1_100);
    expect(passed(await times(2, () => list(api, caller)))).to.equal(2);
  });

  it('RATE_LIMIT=off counts nobody', async () => {
    const free = await startTestApi();
    try {
      const answers = await times(60, () => free.call('GET', '/api/gateway'));
      expect(passed(answers)).to.equal(60);
      expect(answers[0]?.headers.get('X-RateLimit-Limit')).to.equal(null);
    } finally {
      await free.close();
    }
  });

  describe('while Redis is away', () => {
    let proxy: TcpProxy;
    let lonely: TestApi;
    let people: World;
    before(async () => {
      proxy = await startTcpProxy(testConfig().REDIS_URL, 6379);
      lonely = await startTestApi({ ...rate, REDIS_URL: proxy.url });
      people = await makeWorld(lonely.platform, { bots: 2, channels: 1 });
    });
    after(async () => {
      await lonely.close();
      await proxy.close();
    });

    const path = () => `/api/channels/${people.channelIds[0]}/messages`;

    it('the process counts by itself: nobody is refused for it, and the burst still holds', async () => {
      const as = `Bot ${people.bots[0]?.token}`;
      proxy.cut();
      await until(() => !lonely.platform.redisUp(), 'Redis is seen to be away');
      const { answers, most } = await burst(20, () => lonely.call('GET', path(), { as }));
      expect(answers.filter((one) => one.status >= 500)).to.have.length(0);
      expect(passed(answers)).to.be.within(10, most);
      const [refused] = refusedOf(answers) as [Answer];
      expect(headersOf(refused)).to.include({ limit: 10, remaining: 0, bucket: 'caller' });
      await pause(Number(refused.body.retryAfter) * 1000 + 5);
      expect((await lonely.call('GET', path(), { as })).status).to.equal(200);
    });

    it('a message is posted, with an id above those before', async () => {
      const as = `Bot ${people.bots[1]?.token}`;
      proxy.mend();
      await until(() => lonely.platform.redisUp(), 'Redis is back');
      const first = await lonely.call('POST', path(), { as, body: { content: 'one' } });
      proxy.cut();
      await until(() => !lonely.platform.redisUp(), 'Redis is seen to be away');
      const second = await lonely.call('POST', path(), { as, body: { content: 'two' } });
      expect([first.status, second.status]).to.deep.equal([201, 201]);
      expect(String(second.body.id) > String(first.body.id)).to.equal(true);
    });

    it('it is shared again once Redis is back', async () => {
      proxy.mend();
      await until(() => lonely.platform.redisUp(), 'Redis is back');
      expect((await lonely.call('GET', path(), { as: `Bot ${people.bots[1]?.token}` })).status).to.equal(200);
    });
  });
});
