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
import { trusted } from '../../lib/store/mongo/database.ts';
import { type ApiPlatform, openApiPlatform } from '../../lib/store/platform.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { makeWorld } from '../harness/world.ts';
import { issue, range, titleOf } from './fixture.ts';

const hooks = 20;
const each = 50;
/** How long the posts keep their real pace before their times are put back, in milliseconds. */
const realMs = 20_000;
/** How much later than its place a message may be stored on a busy machine, in milliseconds: without a pace five come at once. */
const slackMs = 4_000;

/** Real processes on stores of their own: 1,000 deliveries in a burst, a worker and Redis killed meanwhile. */
describe('1,000 deliveries in a burst to 20 webhooks', function () {
  this.timeout(180_000);
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
  /** Puts the times of all posts back, so that the next are due; the sweep takes up what rests. */
  const forward = () =>
    platform.db.webhooks.collection.updateMany({}, { $set: { posts: [], deliveryPosts: [], drainAt: new Date(Date.now() - 60_000) } });

  it('each posts in order, at its pace, none lost and none twice, with a worker and Redis killed meanwhile', async () => {
    const world = await makeWorld(platform, { bots: 0, channels: hooks });
    const as = { Authorization: `Bearer ${world.ownerToken}` };
    const webhooks = await Promise.all(
      world.channelIds.map(async (id, at): Promise<Webhook> => {
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
        for (const number of range(1, each)) {
          const headers = { 'X-GitHub-Event': 'issues', 'X-GitHub-Delivery': `d-${number}` };
          // The two nodes by turns: the order of arrival is that of the answers. What is not known to be stored is sent again, as it is.
          const send = async () => (await call(number, `/api/webhooks/${id}/${token}/codehost`, headers, issue(number))).status;
          const first = await send();
          let last = first;
          while (last === 503) last = await send();
          statuses.push(first === 503 && last === 204 ? 202 : last);
          accepted++;
        }
      }),
    );
    const reached = async (count: number): Promise<void> => {
      while (accepted < count) await pause(20);
    };
    const [worker] = stack.workers;
    await reached(300);
    await worker?.stop('SIGKILL');
    const back = worker?.start();
    await reached(500);
    process.kill(stores.processes.redis as number, 'SIGKILL');
    await sending;
    await back;
    expect(statuses.filter((status) => status !== 202)).to.deep.equal([]);
    await pause(Math.max(0, realMs - (performance.now() - began)));

    const posted = async (): Promise<Map<string, { title: string; at: number }[]>> => {
      const found = await platform.db.messages
        .find({ authorId: trusted({ $in: webhooks.map(({ id }) => id) }) })
        .sort({ _id: 1 })
        .lean();
      const of = new Map<string, { title: string; at: number }[]>(webhooks.map(({ id }) => [id, []]));
      for (const { authorId, embeds, createdAt } of found)
        of.get(authorId)?.push({ title: /#.*/.exec(embeds[0]?.title ?? '')?.[0] ?? '', at: createdAt.getTime() });
      return of;
    };
    const paced = [...(await posted()).values()];
    for (const posts of paced) {
      expect(posts.length, 'posts in the real time').to.be.within(1, 4 * (1 + (performance.now() - began) / 5_000));
      for (const [at, { at: time }] of posts.entries())
        if (at >= 4) expect(time - (posts[at - 4]?.at ?? 0), 'five posts').to.be.greaterThan(5_000 - slackMs);
    }
    const count = (): Promise<number> => platform.db.deliveries.countDocuments({ outcome: 'posted' });
    for (let left = 60; (await count()) < hooks * each && left > 0; left--) {
      await forward();
      await pause(1_000);
    }
    const all = await posted();
    for (const { id } of webhooks) expect(all.get(id)?.map(({ title }) => title)).to.deep.equal(range(1, each).map(titleOf));
    expect(await platform.db.deliveries.countDocuments({ outcome: trusted({ $ne: 'posted' }) })).to.equal(0);
  });
});
