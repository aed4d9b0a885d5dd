import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createLocalLimiter } from '../../../lib/store/redis/preflight.ts';
import { type Answer, startSecondApi, startTestApi, type TestApi } from '../../harness/api.ts';
import { makeChannel } from '../../harness/factories.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { bucketOf, type Caller, inParallel, send } from '../../harness/requests.ts';
import { botOf, ownerOf, seedServer } from '../../harness/seed.ts';
import { startSeededApi } from '../../harness/seeded-api.ts';
import { testConfig } from '../../harness/stores.ts';
import { startTcpProxy } from '../../harness/tcp-proxy.ts';
import { make, newBot, newMember, use, useServer } from '../../harness/use.ts';

const headersOf = ({ headers }: Answer) => ({
  limit: Number(headers.get('X-RateLimit-Limit')),
  remaining: Number(headers.get('X-RateLimit-Remaining')),
  resetAfter: Number(headers.get('X-RateLimit-Reset-After')),
  bucket: headers.get('X-RateLimit-Bucket'),
});
const passed = (answers: readonly Answer[]): number => answers.filter((one) => one.status < 400).length;
const refusedOf = (answers: readonly Answer[]): Answer[] => answers.filter((one) => one.status === 429);

describe('rate limits', () => {
  /** 2 a second with a burst of 10: slow enough to measure on a busy machine. */
  const rate = { RATE_LIMIT: '2/10' };
  /** Sends `count` requests at once. `most` is the highest number that may pass: the burst, and what the bucket regained meanwhile. */
  const burst = async (count: number, run: () => Promise<Answer>, [perSecond, size]: [number, number] = [2, 10]) => {
    const began = performance.now();
    const answers = await inParallel(count, run);
    return { answers, most: size + Math.ceil(((performance.now() - began) / 1000) * perSecond) };
  };
  const api = use(() => startSeededApi({ bots: 12, channels: 1 }, rate));
  const secondApi = use(() => startSecondApi(api, rate));
  let next = 0;
  /** A caller with a full bucket. */
  const freshCaller = (): { as: string } => ({ as: `Bot ${api.seeded.bots[next++]?.token}` });

  const list = (from: TestApi, caller: { as?: string }) => from.call('GET', api.path, caller);

  it('a clock that was set back by an hour keeps nobody waiting for longer than two buckets take to fill', async () => {
    const { as } = freshCaller();
    await list(api, { as });
    const redis = new Redis(api.platform.config.REDIS_URL);
    const [key = ''] = await redis.keys(`*${api.platform.config.REDIS_PREFIX}*:rl:${api.seeded.bots[next - 1]?.id}`);
    const [seconds] = await redis.time();
    await redis.set(key, (Number(seconds) + 3_600) * 1_000_000);
    redis.disconnect();
    const answer = await list(api, { as });
    expect(answer.status).to.equal(429);
    expect(Number(answer.headers.get('Retry-After'))).to.be.within(1, 6);
    let nowMs = 10_000_000;
    const decide = createLocalLimiter(() => nowMs);
    const bucket = { key: 'one', perSecond: 2, burst: 10 };
    decide(bucket);
    nowMs -= 3_600_000;
    expect(decide(bucket).retryAfterSecs).to.be.within(1, 6);
  });

  it('429 after a burst, with the time to wait in headers and body', async () => {
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

  it('429 until retryAfter has passed', async () => {
    const caller = freshCaller();
    let began = 0;
    let refused: Answer | undefined;
    while (!refused) {
      began = performance.now();
      [refused] = refusedOf(await inParallel(12, () => list(api, caller)));
    }
    const endsAt = began + Number(refused.body.retryAfter) * 1000;
    for (;;) {
      const { status } = await list(api, caller);
      if (performance.now() >= endsAt) break;
      expect(status).to.equal(429);
      await pause(50);
    }
  });

  it('X-RateLimit-Remaining goes down, and up again by 2 a second', async () => {
    const caller = freshCaller();
    const first = headersOf(await list(api, caller));
    expect(first).to.include({ limit: 10, remaining: 9, bucket: 'caller' });
    expect(first.resetAfter).to.be.within(0.4, 0.5);
    await inParallel(5, () => list(api, caller));
    const before = headersOf(await list(api, caller));
    await pause(1_100);
    const after = headersOf(await list(api, caller));
    expect(after.remaining - before.remaining).to.be.at.least(1); // 2.2 or more came back, this request took one
  });

  it('every authenticated response has the headers, also a refusal', async () => {
    const caller = freshCaller();
    for (const path of ['/api/channels/1/messages', `${api.path}?limit=0`]) {
      const answer = await api.call('GET', path, caller);
      expect(answer.status).to.be.within(400, 404);
      expect(headersOf(answer)).to.include({ limit: 10, bucket: 'caller' });
    }
  });

  it('two API processes share one limit', async () => {
    const caller = freshCaller();
    let calls = 0;
    const { answers, most } = await burst(24, () => list(calls++ % 2 ? api : secondApi, caller));
    expect(passed(answers)).to.be.within(10, most);
  });

  it('callers do not share a bucket', async () => {
    const [one, other] = [freshCaller(), freshCaller()];
    await inParallel(20, () => list(api, one));
    expect((await list(api, other)).status).to.equal(200);
  });

  it('without a caller the limit is two fifths, by address; requests with a wrong token count there', async () => {
    const { answers, most } = await burst(12, () => api.call('GET', '/api/gateway'), [0.8, 4]);
    expect(headersOf(answers[0] as Answer)).to.include({ limit: 4, bucket: 'address' });
    expect(passed(answers)).to.be.within(4, most);
    const wrong = await list(api, { as: 'Bot nothing' });
    expect(headersOf(wrong)).to.include({ limit: 4, bucket: 'address' });
  });

  it('a refused request does not count', async () => {
    const caller = freshCaller();
    await inParallel(40, () => list(api, caller));
    await pause(1_100);
    expect(passed(await inParallel(2, () => list(api, caller)))).to.equal(2);
  });

  it('no limit and no headers with RATE_LIMIT=off', async () => {
    const free = await startTestApi();
    try {
      const answers = await inParallel(60, () => free.call('GET', '/api/gateway'));
      expect(passed(answers)).to.equal(60);
      expect(answers[0]?.headers.get('X-RateLimit-Limit')).to.equal(null);
    } finally {
      await free.close();
    }
  });

  describe('while Redis is down', () => {
    const proxied = use(async () => {
      const proxy = await startTcpProxy(testConfig().REDIS_URL, 6379);
      const started = await startSeededApi({ bots: 2, channels: 1 }, { ...rate, REDIS_URL: proxy.url });
      return { ...started, proxy, close: () => started.close().then(proxy.close) };
    });
    const untilRedis = (isUp: boolean): Promise<void> =>
      waitUntil(() => proxied.platform.isRedisUp() === isUp, `Redis is ${isUp ? 'up' : 'down'}`);

    it('the process limits by itself: no 5xx, and the same burst', async () => {
      const { as } = proxied;
      proxied.proxy.cut();
      await untilRedis(false);
      const { answers, most } = await burst(20, () => proxied.call('GET', proxied.path, { as }));
      expect(answers.filter((one) => one.status >= 500)).to.have.length(0);
      expect(passed(answers)).to.be.within(10, most);
      const [refused] = refusedOf(answers) as [Answer];
      expect(headersOf(refused)).to.include({ limit: 10, remaining: 0, bucket: 'caller' });
      await pause(Number(refused.body.retryAfter) * 1000 + 5);
      expect((await proxied.call('GET', proxied.path, { as })).status).to.equal(200);
    });

    it('a message is posted with an id above earlier ones', async () => {
      const as = `Bot ${proxied.seeded.bots[1]?.token}`;
      proxied.proxy.mend();
      await untilRedis(true);
      const first = await proxied.call('POST', proxied.path, { as, body: { content: 'one' } });
      proxied.proxy.cut();
      await untilRedis(false);
      const second = await proxied.call('POST', proxied.path, { as, body: { content: 'two' } });
      expect([first.status, second.status]).to.deep.equal([201, 201]);
      expect(String(second.body.id) > String(first.body.id)).to.equal(true);
    });

    it('200 once Redis is back', async () => {
      proxied.proxy.mend();
      await untilRedis(true);
      expect((await proxied.call('GET', proxied.path, { as: `Bot ${proxied.seeded.bots[1]?.token}` })).status).to.equal(200);
    });
  });
});

describe('the rate limit of posts in a channel', () => {
  // In a channel, people may post 12 at once and 5 more a second, bots 50 and 25.
  const fixture = useServer({ member: newMember(), bot: newBot() }, { start: () => startTestApi({ RATE_LIMIT: '50/10' }) });
  const { api, owner, server } = fixture;
  const post = (caller: Caller, channelId: string): Promise<Answer> =>
    api.call('POST', `/api/channels/${channelId}/messages`, { as: caller.as, body: { content: 'x' } });

  /** Posts until the channel's bucket refuses. When the caller's bucket refuses before, waits for it. */
  async function postUntilRefused(caller: Caller, channelId: string): Promise<{ posted: number; refused: Answer }> {
    for (let posted = 0; posted < 400; ) {
      const answers = await inParallel(5, () => post(caller, channelId));
      posted += answers.filter(({ status }) => status === 201).length;
      const refused = answers.find((answer) => bucketOf(answer) === 'channel');
      if (refused) return { posted, refused };
      await pause(50);
    }
    return expect.fail('no post was refused');
  }

  for (const [who, burst] of [
    ['member', 12],
    ['bot', 50],
  ] as const)
    it(`a ${who} may post ${burst} messages at once in one channel, and is told how long to wait`, async () => {
      const caller = fixture[who];
      const [one, other] = [await makeChannel(api, owner, server.id), await makeChannel(api, owner, server.id)];
      const { posted, refused } = await postUntilRefused(caller, one.id);
      expect(posted).to.be.at.least(burst);
      expect([refused.status, refused.body.code]).to.deep.equal([429, 'rate_limited']);
      expect(refused.headers.get('X-RateLimit-Limit')).to.equal(String(burst));
      expect(refused.headers.get('X-RateLimit-Remaining')).to.equal('0');
      expect(Number(refused.body.retryAfter)).to.be.above(0);
      const stored = await api.platform.db.messages.countDocuments({ channelId: one.id, authorId: caller.id });
      expect(stored).to.equal(posted);
      await pause(200); // for the caller's own bucket
      expect((await post(caller, other.id)).status).to.equal(201);
      expect((await post(owner, one.id)).status).to.equal(201);
    });
});

describe('the rate limit of all bots of a person', () => {
  // All bots of a person together may send 50 at once and 5 more a second.
  const api = use(() => startTestApi({ RATE_LIMIT: '1/10' }));
  const seeded = make(() => seedServer(api.platform, { bots: 12, channels: 1 }));

  it('12 bots share it, and their owner has a bucket of its own', async () => {
    const began = performance.now();
    const answers = await inParallel(96, (at) => api.call('GET', '/api/auth/me', { as: `Bot ${botOf(seeded, at % 12).token}` }));
    const regained = Math.ceil(((performance.now() - began) / 1000) * 5);
    expect(answers.filter(({ status }) => status === 200).length).to.be.within(50, 50 + regained);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused && [bucketOf(refused), refused.headers.get('X-RateLimit-Limit'), refused.body.code]).to.deep.equal([
      'owner',
      '50',
      'rate_limited',
    ]);
    await send(api, 200, ownerOf(seeded), 'GET', '/api/auth/me');
  });
});
