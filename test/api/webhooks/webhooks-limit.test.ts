import { expect } from 'chai';
import { type QueueName, queues } from '../../../lib/contract/jobs.ts';
import { takePlace } from '../../../lib/domain/webhooks/webhook-window.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { expectError } from '../../harness/expect-error.ts';
import { makeChannel, send, tally } from '../../harness/factories.ts';
import { until } from '../../harness/scene.ts';
import { testConfig } from '../../harness/stores.ts';
import { startTcpProxy } from '../../harness/tcp-proxy.ts';
import { type WebhookFixture, webhookFixture } from './webhook-fixture.ts';

const headersOf = ({ headers }: Answer) => ({
  limit: headers.get('X-RateLimit-Limit'),
  remaining: Number(headers.get('X-RateLimit-Remaining')),
  bucket: headers.get('X-RateLimit-Bucket'),
  resetAfter: Number(headers.get('X-RateLimit-Reset-After')),
});
const times = <T>(count: number, run: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => run(n)));

describe('5 posts of a webhook in 5 seconds', () => {
  let fixture: WebhookFixture;
  let { api, owner, server, make, age, post, stored }: WebhookFixture = {} as never;
  /** Another node, under a strict limit on callers. */
  let twin: TestApi;
  let webhook: { id: string; token: string };

  before(async () => {
    fixture = await webhookFixture();
    ({ api, owner, server, make, age, post, stored } = fixture);
    const { MONGODB_URL, REDIS_PREFIX } = api.platform.config;
    twin = await startTestApi({ RATE_LIMIT: '1/2', MONGODB_URL, REDIS_PREFIX });
  });
  after(() => Promise.all([api.close(), twin.close()]));
  beforeEach(async () => {
    webhook = await make((await makeChannel(api, owner, server.id)).id);
  });

  const postOn = (node: TestApi): Promise<Answer> =>
    node.call('POST', `/api/webhooks/${webhook.id}/${webhook.token}`, { body: { content: 'x' } });
  const made = (): Promise<number> => api.platform.db.messages.countDocuments({ authorId: webhook.id });
  const moments = async (): Promise<number[]> => ((await stored(webhook.id))?.posts ?? []).map((at) => at.getTime());
  /** Sends 40 at once to two nodes: 5 pass for each 5 s that it takes, which is once unless the machine is very slow. */
  const crowd = async (...nodes: readonly [TestApi, TestApi]): Promise<Answer[]> => {
    const [before, began] = [await made(), performance.now()];
    const answers = await times(40, (n) => postOn(nodes[n % 2 ? 0 : 1]));
    const passed = answers.filter(({ status }) => status === 201).length;
    expect(passed).to.be.within(5, 5 * Math.ceil((performance.now() - began) / 5_000));
    expect(tally(answers)).to.deep.equal({ 201: passed, 429: 40 - passed });
    expect(await made()).to.equal(before + passed);
    return answers;
  };
  /** How many milliseconds are really left until a place is free. */
  const left = async (): Promise<number> => Math.max(0, ((await moments())[0] as number) + 5_000 - Date.now());

  /** Makes it as if its last posts were so many milliseconds ago, so that only what follows has to be quick. */
  const postedBefore = async (ages: readonly number[]): Promise<void> => {
    const posts = ages.map((ms) => ({ $subtract: ['$$NOW', ms] }));
    await api.platform.db.webhooks.collection.updateOne({ _id: webhook.id as never }, [{ $set: { posts } }]);
  };
  const postAfter = async (ages: readonly number[]): Promise<Answer> => {
    await postedBefore(ages);
    return post(webhook);
  };

  it('40 at once on two nodes: 5 pass, 35 are told to wait', async () => {
    for (let round = 0; round < 3; round++) {
      const answers = await crowd(api, twin);
      for (const answer of answers.filter(({ status }) => status === 429)) {
        expectError(answer, 429, 'rate_limited');
        expect(Number(answer.body.retryAfter)).to.be.within(0.001, 5);
      }
      await age(webhook.id, 5_000);
    }
  });

  it('headers count the places down and agree with the body and the real wait', async () => {
    for (const remaining of [4, 3, 2, 1, 0]) {
      const { status, headers } = await postAfter(Array.from({ length: 4 - remaining }, () => 0));
      expect([status, headers.get('Retry-After')]).to.deep.equal([201, null]);
      const told = headersOf({ headers } as Answer);
      expect(told).to.include({ limit: '5', remaining, bucket: 'webhook' });
      expect(told.resetAfter, 'all places are free 5 s after this post').to.equal(5);
    }
    await postedBefore([1_600, 0, 0, 0, 0]);
    const before = await left();
    const refused = await post(webhook);
    expectError(refused, 429, 'rate_limited');
    const wait = Number(refused.body.retryAfter) * 1_000;
    expect(wait).to.be.within(await left(), before);
    expect(refused.headers.get('Retry-After')).to.equal(String(Math.ceil(wait / 1_000)));
    const told = headersOf(refused);
    expect(told).to.include({ limit: '5', remaining: 0, bucket: 'webhook' });
    expect(told.resetAfter * 1_000, 'when the last place is free, not the first').to.be.within(wait + 1, 5_000);
  });

  it('the wait that is told is enough, and 3 seconds less are not', async () => {
    await times(5, () => post(webhook));
    const wait = Number((await post(webhook)).body.retryAfter) * 1_000;
    await age(webhook.id, wait - 3_000);
    expect(Number((await post(webhook)).body.retryAfter)).to.be.within(0.001, 3);
    await age(webhook.id, 3_000);
    expect((await post(webhook)).status).to.equal(201);
  });

  for (const [ages, free] of [
    [[400, 200, 0, 0, 0], 0],
    [[5_000, 400, 0, 0, 0], 1],
    [[6_000, 5_000, 400, 200, 0], 2],
    [[5_000, 5_000, 5_000, 5_000, 0], 4],
    [[9_000, 8_000, 7_000, 6_000, 5_000], 5],
    [[400, 400], 3],
  ] as const)
    it(`slides: of 12 at once ${free} pass after posts ${ages.map((ms) => `${ms / 1_000} s`).join(', ')} ago`, async () => {
      await postedBefore(ages);
      const answers = await times(12, () => post(webhook));
      expect(answers.filter(({ status }) => status === 201)).to.have.length(free);
      expect(answers.filter(({ status }) => status === 429)).to.have.length(12 - free);
    });

  it('times never go back, so that the oldest stands first: a post comes no earlier than the one before it', async () => {
    const ahead = [{ $add: ['$$NOW', 2_000] }];
    await api.platform.db.webhooks.collection.updateOne({ _id: webhook.id as never }, [{ $set: { posts: ahead } }]);
    await post(webhook);
    const [first, second] = await moments();
    expect(second).to.equal(first);
  });

  it('what is refused takes no place and makes nobody wait longer', async () => {
    await times(5, () => post(webhook));
    const before = await moments();
    await age(webhook.id, 100);
    await times(20, () => post(webhook));
    for (const body of [{}, { content: 5 }, { embeds: [{}] }]) expect((await post(webhook, body)).status).to.equal(400);
    expect((await post({ ...webhook, token: 'x' })).status).to.equal(404);
    expect(await moments()).to.deep.equal(before.map((at) => at - 100));
    await age(webhook.id, 4_900);
    expect(tally(await times(8, () => post(webhook)))).to.deep.equal({ 201: 5, 429: 3 });
  });

  it('400 and 404 say nothing of places', async () => {
    const answers = [await post(webhook, {}), await post({ ...webhook, token: 'x' })];
    for (const answer of answers) expect(answer.headers.get('X-RateLimit-Limit')).to.equal(null);
  });

  it('webhooks of one channel count apart', async () => {
    const other = await make((await stored(webhook.id))?.channelId);
    await times(6, () => post(webhook));
    expect(tally(await times(6, () => post(other)))).to.deep.equal({ 201: 5, 429: 1 });
  });

  describe('shared with the deliveries of a code host', () => {
    const take = (by: 'direct' | 'delivery', node = api): Promise<number | null> => takePlace(node.platform, webhook.id, by);
    const taken = (waits: readonly (number | null)[]): number => waits.filter((wait) => wait === null).length;

    it('deliveries take at most 4, so that a direct post passes', async () => {
      const waits = await times(20, (n) => take('delivery', n % 2 ? api : twin));
      expect(taken(waits)).to.equal(4);
      for (const wait of waits) if (wait !== null) expect(wait).to.be.within(1, 5_000).and.satisfy(Number.isInteger);
      expect(tally(await times(3, () => post(webhook)))).to.deep.equal({ 201: 1, 429: 2 });
    });

    it('20 deliveries and 20 direct posts at once: 5 in all, each in its order', async () => {
      const [deliveries, answers] = await Promise.all([times(20, () => take('delivery')), times(20, (n) => postOn(n % 2 ? api : twin))]);
      const direct = answers.filter(({ status }) => status === 201).length;
      expect(taken(deliveries) + direct).to.equal(5);
      expect(taken(deliveries)).to.be.at.most(4);
      const at = await moments();
      expect(at).to.deep.equal(at.toSorted((a, b) => a - b));
    });

    it('a delivery waits for its own four and for the five', async () => {
      await times(4, () => take('delivery'));
      await age(webhook.id, 3_000);
      await take('direct');
      expect(await take('delivery'), 'its own are taken').to.be.within(1, 2_000);
      await age(webhook.id, 2_000);
      expect(taken(await times(6, () => take('delivery')))).to.equal(4);
      await age(webhook.id, 5_000);
      await times(5, () => take('direct'));
      expect(await take('delivery'), 'the five are taken').to.be.within(1, 5_000);
    });

    it('404 for a webhook that is gone', async () => {
      await send(api, 204, owner, 'DELETE', `/api/webhooks/${webhook.id}`);
      const failed = await take('delivery').catch((error: { code?: string }) => error.code);
      expect(failed).to.equal('not_found');
    });
  });

  it('while Redis is away: 5 of 40 pass on each of two nodes together, and none is refused for it', async () => {
    const redis = await startTcpProxy(testConfig().REDIS_URL, 6379);
    const { MONGODB_URL, REDIS_PREFIX } = api.platform.config;
    const same = { MONGODB_URL, REDIS_PREFIX, REDIS_URL: redis.url, LOG_LEVEL: 'silent' };
    const nodes = [await startTestApi(same), await startTestApi(same)] as const;
    try {
      redis.cut();
      await until(() => nodes.every(({ platform }) => !platform.redisUp()), 'the loss of Redis');
      await crowd(...nodes);
      expect(tally([await postOn(api)]), 'the node that has Redis knows').to.deep.equal({ 429: 1 });
      await age(webhook.id, 5_000);
      expect((await postOn(nodes[0])).status).to.equal(201);
    } finally {
      redis.mend();
      const names = Object.keys(queues) as QueueName[];
      const reaches = ({ platform }: TestApi) =>
        Promise.all(names.map((name) => platform.waiting(name))).then(
          () => platform.redisUp(),
          () => false,
        );
      for (const node of nodes) await until(() => reaches(node), 'Redis');
      await Promise.all(nodes.map((node) => node.close()));
      await redis.close();
    }
  });
});
