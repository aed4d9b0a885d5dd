import { expect } from 'chai';
import { type QueueName, queues } from '../../../lib/contract/jobs.ts';
import { countPostOrDelayMs } from '../../../lib/domain/webhooks/rate.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { expectError } from '../../harness/expect-error.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { inParallel, send, tally } from '../../harness/requests.ts';
import { testConfig } from '../../harness/stores.ts';
import { startTcpProxy } from '../../harness/tcp-proxy.ts';
import { use } from '../../harness/use.ts';
import { useWebhook } from './webhook-fixture.ts';

const headersOf = ({ headers }: Answer) => ({
  limit: headers.get('X-RateLimit-Limit'),
  remaining: Number(headers.get('X-RateLimit-Remaining')),
  bucket: headers.get('X-RateLimit-Bucket'),
  resetAfter: Number(headers.get('X-RateLimit-Reset-After')),
});

describe('the limit of 5 posts of a webhook in 5 seconds', () => {
  const { api, owner, webhook, makeWebhook, call, stored } = useWebhook();
  const startedNodes: TestApi[] = [];
  /** Sets the clock of a node forward. It remembers until when a webhook may not post. */
  const setForward = ({ platform }: TestApi, ms: number): void => {
    const { now } = platform;
    platform.now = () => now() + ms;
  };
  /** Starts another node on the same stores. */
  const startNode = async (more: Record<string, string>): Promise<TestApi> => {
    const { MONGODB_URL, REDIS_PREFIX } = api.platform.config;
    const node = await startTestApi({ MONGODB_URL, REDIS_PREFIX, ...more });
    startedNodes.push(node);
    return node;
  };
  /** Another node, with a strict rate limit for callers, which does not apply to webhooks. */
  const twin = use(() => startNode({ RATE_LIMIT: '1/2' }));

  const postOn = (node: TestApi): Promise<Answer> =>
    node.call('POST', `/api/webhooks/${webhook.id}/${webhook.token}`, { body: { content: 'x' } });
  const countMessages = (): Promise<number> => api.platform.db.messages.countDocuments({ authorId: webhook.id });
  const moments = async (): Promise<number[]> => ((await stored(webhook.id))?.posts ?? []).map((at) => at.getTime());
  /** Sends 40 posts to two nodes in parallel. 5 pass for every 5 s that this takes, so more than 5 only if the machine is very slow. */
  const post40 = async (...nodes: readonly [TestApi, TestApi]): Promise<Answer[]> => {
    const [before, began] = [await countMessages(), performance.now()];
    const answers = await inParallel(40, (n) => postOn(nodes[n % 2 ? 0 : 1]));
    const passed = answers.filter(({ status }) => status === 201).length;
    expect(passed).to.be.within(5, 5 * Math.ceil((performance.now() - began) / 5_000));
    expect(tally(answers)).to.deep.equal({ 201: passed, 429: 40 - passed });
    expect(await countMessages()).to.equal(before + passed);
    return answers;
  };
  /** The real time until the next post is allowed, in milliseconds. */
  const remainingMs = async (): Promise<number> => Math.max(0, ((await moments())[0] as number) + 5_000 - Date.now());

  const subtractFrom = (value: string, ms: number) => ({ $subtract: [value, ms] });
  const setPosts = (set: object): Promise<unknown> => api.platform.db.webhooks.updateOne({ _id: webhook.id }, [{ $set: set }]);
  /** Stores that the last posts were this many milliseconds ago. */
  const postedBefore = (ages: readonly number[]) => setPosts({ posts: ages.map((ms) => subtractFrom('$$NOW', ms)) });
  /** Makes the stored posts older. */
  const age = (ms: number): Promise<unknown> => {
    const aged = (input: string) => ({ $map: { input, in: subtractFrom('$$this', ms) } });
    for (const node of [api, ...startedNodes]) setForward(node, ms);
    return setPosts({ posts: aged('$posts'), deliveryPosts: aged('$deliveryPosts') });
  };

  it('of 40 parallel posts on two nodes, 5 pass and 35 get 429 rate_limited', async () => {
    for (let round = 0; round < 3; round++) {
      const answers = await post40(api, twin);
      for (const answer of answers.filter(({ status }) => status === 429)) {
        expectError(answer, 429, 'rate_limited');
        expect(Number(answer.body.retryAfter)).to.be.within(0.001, 5);
      }
      await age(5_000);
    }
  });

  it('the headers show the remaining posts, and agree with the body and the real wait', async () => {
    for (const remaining of [4, 3, 2, 1, 0]) {
      await postedBefore(Array.from({ length: 4 - remaining }, () => 0));
      const answer = await call(webhook);
      expect([answer.status, answer.headers.get('Retry-After')]).to.deep.equal([201, null]);
      expect(headersOf(answer)).to.deep.equal({ limit: '5', remaining, bucket: 'webhook', resetAfter: 5 });
    }
    await postedBefore([1_600, 0, 0, 0, 0]);
    const before = await remainingMs();
    const refused = await call(webhook);
    expectError(refused, 429, 'rate_limited');
    const wait = Number(refused.body.retryAfter) * 1_000;
    expect(wait).to.be.within(await remainingMs(), before);
    expect(refused.headers.get('Retry-After')).to.equal(String(Math.ceil(wait / 1_000)));
    const { resetAfter, ...others } = headersOf(refused);
    expect(others).to.deep.equal({ limit: '5', remaining: 0, bucket: 'webhook' });
    expect(resetAfter * 1_000, 'after the wait for the newest post, not the oldest').to.be.within(wait + 1, 5_000);
  });

  it('a post passes after retryAfter, but not 3 seconds earlier', async () => {
    await inParallel(5, () => call(webhook));
    const wait = Number((await call(webhook)).body.retryAfter) * 1_000;
    await age(wait - 3_000);
    expect(Number((await call(webhook)).body.retryAfter)).to.be.within(0.001, 3);
    await age(3_000);
    expect((await call(webhook)).status).to.equal(201);
  });

  for (const [ages, free] of [
    [[400, 200, 0, 0, 0], 0],
    [[5_000, 400, 0, 0, 0], 1],
    [[6_000, 5_000, 400, 200, 0], 2],
    [[5_000, 5_000, 5_000, 5_000, 0], 4],
    [[9_000, 8_000, 7_000, 6_000, 5_000], 5],
    [[400, 400], 3],
  ] as const)
    it(`of 12 parallel posts after posts ${ages.map((ms) => `${ms / 1_000} s`).join(', ')} ago, ${free} pass`, async () => {
      await postedBefore(ages);
      expect(await inParallel(12, () => call(webhook)).then(tally)).to.deep.equal({ ...(free && { 201: free }), 429: 12 - free });
    });

  it('a post is never stored with an earlier time than the one before it', async () => {
    await setPosts({ posts: [{ $add: ['$$NOW', 2_000] }] });
    await call(webhook);
    const [first, second] = await moments();
    expect(second).to.equal(first);
  });

  it('refused posts are not counted, do not extend the wait and have no rate limit headers', async () => {
    await inParallel(5, () => call(webhook));
    const before = await moments();
    await age(100);
    const wrong = [await call({ ...webhook, token: 'x' })];
    for (const body of [{}, { content: 5 }, { embeds: [{}] }]) wrong.push(await call(webhook, body));
    expect(wrong.map(({ status, headers }) => [status, headers.get('X-RateLimit-Limit')])).to.deep.equal([
      [404, null],
      ...Array.from({ length: 3 }, () => [400, null]),
    ]);
    await inParallel(20, () => call(webhook));
    expect(await moments()).to.deep.equal(before.map((at) => at - 100));
    await age(4_900);
    expect(tally(await inParallel(8, () => call(webhook)))).to.deep.equal({ 201: 5, 429: 3 });
  });

  it('webhooks of one channel have separate limits', async () => {
    const other = await makeWebhook((await stored(webhook.id))?.channelId);
    await inParallel(6, () => call(webhook));
    expect(tally(await inParallel(6, () => call(other)))).to.deep.equal({ 201: 5, 429: 1 });
  });

  describe('together with code host deliveries', () => {
    const count = (by: 'direct' | 'delivery', node = api): Promise<number | null> => countPostOrDelayMs(node.platform, webhook.id, by);
    const countPassed = (waits: readonly (number | null)[]): number => waits.filter((wait) => wait === null).length;

    it('at most 4 deliveries pass, so that a post can pass', async () => {
      const waits = await inParallel(20, (n) => count('delivery', n % 2 ? api : twin));
      expect(countPassed(waits)).to.equal(4);
      for (const wait of waits) if (wait !== null) expect(wait).to.be.within(1, 5_000).and.satisfy(Number.isInteger);
      expect(tally(await inParallel(3, () => call(webhook)))).to.deep.equal({ 201: 1, 429: 2 });
    });

    it('of 20 deliveries and 20 posts in parallel, 5 pass, and their times are in order', async () => {
      const [deliveries, answers] = await Promise.all([
        inParallel(20, () => count('delivery')),
        inParallel(20, (n) => postOn(n % 2 ? api : twin)),
      ]);
      const direct = answers.filter(({ status }) => status === 201).length;
      expect(countPassed(deliveries) + direct).to.equal(5);
      expect(countPassed(deliveries)).to.be.at.most(4);
      const at = await moments();
      expect(at).to.deep.equal(at.toSorted((a, b) => a - b));
    });

    it('a delivery waits if 4 deliveries or 5 posts have passed', async () => {
      await inParallel(4, () => count('delivery'));
      await age(3_000);
      await count('direct');
      expect(await count('delivery'), 'after 4 deliveries').to.be.within(1, 2_000);
      await age(2_000);
      expect(countPassed(await inParallel(6, () => count('delivery')))).to.equal(4);
      await age(5_000);
      await inParallel(5, () => count('direct'));
      expect(await count('delivery'), 'after 5 posts').to.be.within(1, 5_000);
    });

    it('a delivery of a deleted webhook fails with not_found', async () => {
      await send(api, 204, owner, 'DELETE', `/api/webhooks/${webhook.id}`);
      const failed = await count('delivery').catch((error: { code?: string }) => error.code);
      expect(failed).to.equal('not_found');
    });
  });

  it('while Redis is unreachable, 5 of 40 posts on two nodes pass, and the others get 429', async () => {
    const redis = await startTcpProxy(testConfig().REDIS_URL, 6379);
    const more = { REDIS_URL: redis.url, LOG_LEVEL: 'silent' };
    const pair = [await startNode(more), await startNode(more)] as const;
    try {
      redis.cut();
      await waitUntil(() => pair.every(({ platform }) => !platform.isRedisUp()), 'the connection to Redis to be lost');
      await post40(...pair);
      expect(tally([await postOn(api)]), 'on a node with Redis').to.deep.equal({ 429: 1 });
      await age(5_000);
      expect((await postOn(pair[0])).status).to.equal(201);
    } finally {
      redis.mend();
      const names = Object.keys(queues) as QueueName[];
      const reaches = ({ platform }: TestApi) =>
        Promise.all(names.map((name) => platform.jobs.countWaiting(name))).then(
          () => platform.isRedisUp(),
          () => false,
        );
      for (const node of pair) await waitUntil(() => reaches(node), 'the connection to Redis');
      await Promise.all(pair.map((node) => node.close()));
      await redis.close();
    }
  });
});
