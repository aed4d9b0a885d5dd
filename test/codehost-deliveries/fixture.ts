import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import type { WebhookDelivery, WebhookDeliveryPage } from '../../lib/contract/delivery.ts';
import type { Webhook } from '../../lib/contract/webhook.ts';
import { postDeliveries } from '../../lib/domain/webhooks/delivery-posting.ts';
import type { DeliveryDoc } from '../../lib/store/mongo/models/delivery.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { type Answer, startTestApi, type TestApi } from '../harness/api.ts';
import { makeWorld, type World } from '../harness/world.ts';

/** A new issue by its number: what most tests send, as each of these shows which one it is. */
export const issue = (number: number): object => ({
  action: 'opened',
  issue: { number, title: `issue ${number}`, html_url: `https://code.example/o/r/issues/${number}` },
  repository: { full_name: 'o/r', html_url: 'https://code.example/o/r' },
  sender: { login: 'sam' },
});

/** What is sent beside the payload. */
export interface Sending {
  event?: string;
  id?: string;
  headers?: Record<string, string>;
}

/** An API and a worker's powers on one database, whose jobs run only when a test runs them, and a world with many channels. */
export interface Scene {
  api: TestApi;
  worker: WorkerPlatform;
  world: World;
  as: string;
  /** Makes a webhook in a channel of its own. */
  make(): Promise<Hook>;
  close(): Promise<void>;
}

/** One webhook, with all that is done to it in a test. */
export interface Hook extends Webhook {
  path: string;
  /** Sends a delivery: an `issues` event unless said otherwise. A payload that is text is sent as it is. */
  deliver(payload: unknown, sending?: Sending): Promise<Answer>;
  /** Delivers issues with these numbers, one after another. */
  deliverIssues(from: number, to: number): Promise<void>;
  /** Runs its job once: answers in how many milliseconds to come again, or null. */
  drain(): Promise<number | null>;
  /** Runs its job until nothing waits, the times of all its posts put back meanwhile. */
  drainAll(): Promise<void>;
  /** Puts the times of its posts back, so that all places are free and it rests no more. */
  rest(): Promise<void>;
  messages(): Promise<MessageDoc[]>;
  /** The titles of its posts in the order of the channel, from their first `#` or `…` on. */
  titles(): Promise<string[]>;
  stored(): Promise<DeliveryDoc[]>;
  log(): Promise<WebhookDelivery[]>;
}

function hookOf({ api, worker, as }: Pick<Scene, 'api' | 'worker' | 'as'>, webhook: Webhook): Hook {
  const { db } = api.platform;
  const path = `/api/webhooks/${webhook.id}/${webhook.token}/codehost`;
  const hook: Hook = {
    ...webhook,
    path,
    deliver: (payload, { event = 'issues', id, headers = {} } = {}) =>
      api.call('POST', path, {
        body: payload,
        headers: { ...(event ? { 'X-GitHub-Event': event } : {}), ...(id ? { 'X-GitHub-Delivery': id } : {}), ...headers },
      }),
    async deliverIssues(from, to) {
      for (let number = from; number <= to; number++) expect((await hook.deliver(issue(number))).status).to.equal(202);
    },
    drain: () => postDeliveries(worker, webhook.id),
    async drainAll() {
      for (let left: number | null = 0; left !== null; ) {
        await hook.rest();
        left = await hook.drain();
      }
    },
    async rest() {
      await db.webhooks.collection.updateOne(
        { _id: webhook.id as never },
        { $set: { posts: [], deliveryPosts: [] }, $unset: { drainAt: 1 } },
      );
    },
    messages: async () => await db.messages.find({ channelId: webhook.channelId }).sort({ _id: 1 }).lean(),
    titles: async () => (await hook.messages()).map(({ embeds }) => /[#…].*/.exec(embeds[0]?.title ?? '')?.[0] ?? 'no title'),
    stored: async () => await db.deliveries.find({ webhookId: webhook.id }).sort({ _id: 1 }).lean(),
    async log() {
      const { status, body } = await api.call<WebhookDeliveryPage>('GET', `/api/webhooks/${webhook.id}/deliveries`, { as });
      expect([status, body.hasMore]).to.deep.equal([200, false]);
      return body.items;
    },
  };
  return hook;
}

/** Builds a scene on a fresh database, with this many channels. */
export async function startDeliveries(channels = 50, overrides: Record<string, string> = {}): Promise<Scene> {
  const api = await startTestApi(overrides);
  const worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
  const world = await makeWorld(api.platform, { bots: 0, channels });
  const as = `Bearer ${world.ownerToken}`;
  const free = [...world.channelIds];
  return {
    api,
    worker,
    world,
    as,
    async make() {
      const { status, body } = await api.call<Webhook>('POST', `/api/channels/${free.pop()}/webhooks`, { as, body: { name: 'code host' } });
      expect(status).to.equal(201);
      return hookOf({ api, worker, as }, body);
    },
    async close() {
      await worker.close();
      await api.close();
    },
  };
}

/** What an issue's post is titled, from its `#` on. */
export const titleOf = (number: number): string => `#${number} issue ${number}`;
/** Numbers from `from` to `to`. */
export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);
