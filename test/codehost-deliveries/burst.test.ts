import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { type Stores, startStores } from '../../apps/local/stores.ts';
import { readConfig } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import type { Webhook } from '../../lib/contract/webhook.ts';
import { type ApiPlatform, openApiPlatform } from '../../lib/store/platform.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { seedServer } from '../harness/seed.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { issue, range, titleOf } from './fixture.ts';

const webhookCount = 20;
const deliveriesPerWebhook = 50;
/** How long the webhooks post at their real rate before the test frees their slots, in milliseconds. */
const realMs = 8_000;
/** How much later than its slot a message may be stored on a busy machine, in milliseconds. Without a rate limit five come at once. */
const slackMs = 4_000;

/** Real processes on stores of their own. A worker and Redis are killed during the burst. */
describe('Code host deliveries: 1,000 in a burst to 20 webhooks', () => {
  let dataDir: string;
  let stores: Stores;
  let stack: Stack;
  let platform: ApiPlatform;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'parlance-burst-'));
    stores = await startStores({ dataDir, durable: true, own: true });
    const name = `burst${randomBytes(4).toString('hex')}`;
    const mongo = new URL(stores.mongodbUrl);
    mongo.pathname = `/${name}`;
    const APP_KEY = randomBytes(32).toString('base64');
    const env = {
      MONGODB_URL: mongo.href,
      REDIS_URL: stores.redisUrl,
      REDIS_PREFIX: name,
      APP_KEY,
      RATE_LIMIT: 'off',
      LOG_LEVEL: 'silent',
    };
    stack = await startStack({ api: 2, gateway: 0, worker: 2 }, env);
    platform = await openApiPlatform(readConfig({ ...env, LOG_LEVEL: 'silent' }), createLog('test', 'silent'));
  });
  after(async () => {
    await stack.close();
    await platform.close();
    await stores.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const call = async (
    at: number,
    path: string,
    headers: Record<string, string>,
    body: object,
  ): Promise<{ status: number; text: string }> => {
    const sent = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) };
    const response = await fetch(stack.apiUrl(at) + path, sent);
    return { status: response.status, text: await response.text() };
  };
  /** Removes the times of all posts, so that the sweep posts the next ones. */
  const freeSlots = () =>
    platform.db.webhooks.updateMany({}, { $set: { posts: [], deliveryPosts: [], drainAt: new Date(Date.now() - 60_000) } });

  it('every webhook posts each delivery once, in order and at its rate, although a worker and Redis were killed', async () => {
    const seeded = await seedServer(platform, { bots: 0, channels: webhookCount });
    const as = { Authorization: `Bearer ${seeded.ownerToken}` };
    const webhooks = await Promise.all(
      seeded.channelIds.map(async (id, at): Promise<Webhook> => {
        const { status, text } = await call(at, `/api/channels/${id}/webhooks`, as, { name: 'code host' });
        expect(status, text).to.equal(201);
        return JSON.parse(text) as Webhook;
      }),
    );
    let accepted = 0;
    const statuses: number[] = [];
    const began = performance.now();
    const sending = Promise.all(
      webhooks.map(async ({ id, token }) => {
        for (const number of range(1, deliveriesPerWebhook)) {
          const headers = { 'X-GitHub-Event': 'issues', 'X-GitHub-Delivery': `d-${number}` };
          // Alternates between the two nodes and waits for each response, which fixes the order of arrival. Repeats a delivery that got 503.
          const send = async () => (await call(number, `/api/webhooks/${id}/${token}/codehost`, headers, issue(number))).status;
          const first = await send();
          let last = first;
          while (last === 503) last = await send();
          statuses.push(first === 503 && last === 204 ? 202 : last);
          accepted++;
        }
      }),
    );
    const waitForAccepted = async (count: number): Promise<void> => {
      while (accepted < count) await pause(20);
    };
    const [worker] = stack.workers;
    await waitForAccepted(300);
    await worker?.stop('SIGKILL');
    const restarted = worker?.start();
    await waitForAccepted(500);
    process.kill(stores.processes.redis as number, 'SIGKILL');
    await sending;
    await restarted;
    expect(statuses.filter((status) => status !== 202)).to.deep.equal([]);
    await pause(Math.max(0, realMs - (performance.now() - began)));

    const posted = async (): Promise<Map<string, { title: string; at: number }[]>> => {
      const found = await platform.db.messages
        .find({ authorId: { $in: webhooks.map(({ id }) => id) } })
        .sort({ _id: 1 })
        .toArray();
      const of = new Map<string, { title: string; at: number }[]>(webhooks.map(({ id }) => [id, []]));
      for (const { authorId, embeds, createdAt } of found)
        of.get(authorId)?.push({ title: /#.*/.exec(embeds[0]?.title ?? '')?.[0] ?? '', at: createdAt.getTime() });
      return of;
    };
    let postsAtRealRate: { at: number }[][] = [];
    // A busy machine may need longer than this until every webhook has posted, after the worker and Redis were killed.
    await waitUntil(async () => {
      postsAtRealRate = [...(await posted()).values()];
      return postsAtRealRate.every(({ length }) => length > 0);
    }, 'every webhook has posted');
    for (const posts of postsAtRealRate) {
      expect(posts.length, 'posts at the real rate').to.be.at.most(4 * (1 + (performance.now() - began) / 5_000));
      for (const [at, { at: time }] of posts.entries())
        if (at >= 4) expect(time - (posts[at - 4]?.at ?? 0), 'five posts').to.be.greaterThan(5_000 - slackMs);
    }
    const count = (): Promise<number> => platform.db.deliveries.countDocuments({ outcome: 'posted' });
    // A busy machine may need long for all of them, but not for the next one.
    for (let [done, left] = [0, 60]; done < webhookCount * deliveriesPerWebhook && left > 0; left--) {
      await freeSlots();
      await pause(1_000);
      const before = done;
      done = await count();
      if (done > before) left = 60;
    }
    const all = await posted();
    for (const { id } of webhooks)
      expect(all.get(id)?.map(({ title }) => title)).to.deep.equal(range(1, deliveriesPerWebhook).map(titleOf));
    expect(await platform.db.deliveries.countDocuments({ outcome: { $ne: 'posted' } })).to.equal(0);
  });
});
