// Tests of webhooks for code hosts: accepting, logging, merging and posting their deliveries, also through faults.
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import type { Webhook } from '../../lib/contract/webhook.ts';
import type { WebhookDelivery, WebhookDeliveryPage } from '../../lib/contract/webhook-delivery.ts';
import { postDeliveries } from '../../lib/domain/webhooks/delivery-posting.ts';
import type { DeliveryDoc } from '../../lib/store/mongo/models/delivery.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { type Answer, startTestApi, type TestApi } from '../harness/api.ts';
import { type SeededServer, seedServer } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';

/** The payload of a new issue. Most tests send it, because the post shows the number. */
export const issue = (number: number): object => ({
  action: 'opened',
  issue: { number, title: `issue ${number}`, html_url: `https://code.example/o/r/issues/${number}` },
  repository: { full_name: 'o/r', html_url: 'https://code.example/o/r' },
  sender: { login: 'sam' },
});

/** What is sent in addition to the payload. */
export interface Sending {
  event?: string;
  id?: string;
  headers?: Record<string, string>;
}

/** An API, a worker platform whose jobs run only when a test runs them, and a seeded server with many channels. */
export interface DeliveryFixture {
  api: TestApi;
  worker: WorkerPlatform;
  seeded: SeededServer;
  /** The owner's Authorization value. */
  as: string;
  /** Creates a webhook in a channel of its own. */
  createHook(): Promise<Hook>;
  close(): Promise<void>;
}

/** A webhook, with the operations that tests run on it. */
export interface Hook extends Webhook {
  path: string;
  /** Sends a delivery, by default an `issues` event. A string is sent as it is. */
  deliver(payload: unknown, sending?: Sending): Promise<Answer>;
  /** Delivers issues with these numbers, one after another. */
  deliverIssues(from: number, to: number): Promise<void>;
  /** Runs its job once. Returns in how many milliseconds to run it again, or null. */
  runJob(): Promise<number | null>;
  /** Runs its job until no delivery waits. Frees its slots before each run. */
  runAllJobs(): Promise<void>;
  /** Removes the times of its posts, so that all slots are free and its job may run at once. */
  freeSlots(): Promise<void>;
  messages(): Promise<MessageDoc[]>;
  /** The titles of its posts in the order of the channel, from their first `#` or `…` on. */
  titles(): Promise<string[]>;
  stored(): Promise<DeliveryDoc[]>;
  /** The outcomes of the stored deliveries, oldest first. */
  outcomes(): Promise<string[]>;
  /** Makes the stored deliveries `ms` milliseconds older. */
  age(ms: number): Promise<unknown>;
  log(): Promise<WebhookDelivery[]>;
}

function toHook({ api, worker, as }: Pick<DeliveryFixture, 'api' | 'worker' | 'as'>, webhook: Webhook): Hook {
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
    runJob: () => postDeliveries(worker, webhook.id),
    async runAllJobs() {
      for (let delayMs: number | null = 0; delayMs !== null; ) {
        await hook.freeSlots();
        delayMs = await hook.runJob();
      }
    },
    async freeSlots() {
      await db.webhooks.updateOne({ _id: webhook.id }, { $set: { posts: [], deliveryPosts: [] }, $unset: { drainAt: 1 } });
    },
    messages: () => db.messages.find({ channelId: webhook.channelId }).sort({ _id: 1 }).toArray(),
    titles: async () => (await hook.messages()).map(({ embeds }) => /[#…].*/.exec(embeds[0]?.title ?? '')?.[0] ?? 'no title'),
    stored: () => db.deliveries.find({ webhookId: webhook.id }).sort({ _id: 1 }).toArray(),
    outcomes: async () => (await hook.stored()).map(({ outcome }) => outcome),
    age: (ms) => db.deliveries.updateMany({ webhookId: webhook.id }, [{ $set: { at: { $subtract: ['$at', ms] } } }]),
    async log() {
      const { status, body } = await api.call<WebhookDeliveryPage>('GET', `/api/webhooks/${webhook.id}/deliveries`, { as });
      expect([status, body.hasMore]).to.deep.equal([200, false]);
      return body.items;
    },
  };
  return hook;
}

/** Starts the fixture on a fresh database, with this many channels. */
export async function startDeliveries(channels = 50, overrides: Record<string, string> = {}): Promise<DeliveryFixture> {
  const api = await startTestApi(overrides);
  const worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
  const seeded = await seedServer(api.platform, { bots: 0, channels });
  const as = `Bearer ${seeded.ownerToken}`;
  const freeChannelIds = [...seeded.channelIds];
  return {
    api,
    worker,
    seeded,
    as,
    async createHook() {
      const { status, body } = await api.call<Webhook>('POST', `/api/channels/${freeChannelIds.pop()}/webhooks`, {
        as,
        body: { name: 'code host' },
      });
      expect(status).to.equal(201);
      return toHook({ api, worker, as }, body);
    },
    async close() {
      await worker.close();
      await api.close();
    },
  };
}

/** `startDeliveries` before the tests of a `describe`, with a new webhook for every test. */
export function useDeliveries(...options: Parameters<typeof startDeliveries>): { fixture: DeliveryFixture; hook: Hook } {
  const fixture = use(() => startDeliveries(...options));
  return { fixture, hook: make(() => fixture.createHook(), { each: true }) };
}

/** The title of an issue's post, from its `#` on. */
export const titleOf = (number: number): string => `#${number} issue ${number}`;
/** Numbers from `from` to `to`. */
export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);
