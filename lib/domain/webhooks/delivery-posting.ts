import { forEachAtOnce } from '../../base/at-once.ts';
import { Refusal } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { idTimeMs } from '../../base/ids.ts';
import type { Embed } from '../../contract/message.ts';
import { bookkeeping, isUnavailable, trusted } from '../../store/mongo/database.ts';
import { type DeliveryDoc, recentIndex } from '../../store/mongo/models/delivery.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { WebhookDoc } from '../../store/mongo/models/webhook.ts';
import type { Platform, WorkerPlatform } from '../../store/platform.ts';
import { newestIn } from '../channels/dm-activity.ts';
import { messageOfCreate } from '../messages/message-draft.ts';
import { type Facts, moreEvents, renderDelivery } from './codehost/index.ts';
import { forgetDeliveries, trimDeliveries } from './delivery-log.ts';
import { countMerged, mergeOverflow } from './delivery-overflow.ts';
import { storeWebhookMessage } from './webhook-posts.ts';
import { takePlace } from './webhook-window.ts';

/** How long a run holds its webhook if it does not release it, because its process died. In milliseconds. */
const heldMs = 5_000;
/** A run older than this starts nothing more, because another run may soon hold its webhook. In milliseconds. */
const drainMs = 4_000;
/** When to try again while another run holds the webhook or it is paused, in milliseconds. */
const busyMs = 500;
/** How often storing a message is tried before its delivery has failed. */
const triesMax = 5;

/** A webhook that this process holds until `drainAt`. */
type Held = WebhookDoc & { drainAt: Date };

/**
 * Holds a webhook, by one conditional update with the database's clock, so that one run at a time posts its deliveries. Returns null if another run holds it,
 * or it is paused.
 */
async function hold({ db }: Platform, webhookId: string): Promise<Held | null> {
  const free = { $lte: [{ $ifNull: ['$drainAt', new Date(0)] }, '$$NOW'] };
  const held = await db.webhooks.collection.findOneAndUpdate(
    { _id: webhookId as never, $expr: free },
    [{ $set: { drainAt: { $add: ['$$NOW', heldMs] } } }],
    { returnDocument: 'after', ...bookkeeping },
  );
  return held as unknown as Held | null;
}

/** Releases a webhook and pauses it for `restMs`, because nothing can be posted before. */
async function release({ db }: Platform, { _id, drainAt }: Held, restMs: number): Promise<void> {
  await db.webhooks.collection.updateOne({ _id: _id as never, drainAt }, [{ $set: { drainAt: { $add: ['$$NOW', restMs] } } }], bookkeeping);
}

const stillThere = async ({ db }: Platform, webhookId: string): Promise<boolean> => (await db.webhooks.exists({ _id: webhookId })) !== null;

/** The oldest waiting delivery of a webhook. */
const nextOf = async ({ db }: Platform, webhookId: string): Promise<DeliveryDoc | null> =>
  (await db.deliveries.collection.findOne({ webhookId, recent: true, outcome: 'waiting' } as never, {
    sort: { _id: 1 },
    hint: recentIndex,
  })) as unknown as DeliveryDoc | null;

/** Makes the next ids of this process greater than the id of the newest message in the channel, even if that was made by a clock that is ahead. */
async function noteNewest(platform: Platform, { channelId }: WebhookDoc): Promise<void> {
  const newest = await newestIn(platform, channelId);
  if (newest !== null) platform.ids.note(idTimeMs(newest) + 1);
}

/** Marks a delivery as begun and fixes the content of its message, before the message is stored. Returns null if another run changed the delivery first. */
async function claim(platform: WorkerPlatform, delivery: DeliveryDoc): Promise<DeliveryDoc | null> {
  const { _id, begun, more } = delivery;
  if (begun) return delivery;
  const set = { begun: true as const, ...(more ? { count: await countMerged(platform, delivery) } : {}) };
  const filter = { _id, outcome: 'waiting' as const, begun: trusted({ $exists: false }) };
  const { modifiedCount } = await platform.db.deliveries.updateOne(filter, { $set: set });
  return modifiedCount === 1 ? { ...delivery, ...set } : null;
}

const embedOf = ({ more, count = 1, facts }: DeliveryDoc): Embed => (more ? moreEvents(count) : renderDelivery(facts as Facts));

/** Sets the outcome of a waiting delivery. If a crash of the database undoes this, the next run finds the stored message and sets the outcome again. */
async function settle(
  { db }: Platform,
  { _id }: DeliveryDoc,
  set: Pick<DeliveryDoc, 'outcome'> & Partial<DeliveryDoc>,
  unset: object = {},
): Promise<void> {
  await db.deliveries.updateOne({ _id, outcome: 'waiting' }, { $set: set, $unset: { facts: 1, ...unset } }, bookkeeping);
}

/**
 * Handles an error of storing a delivery's message. A `Refusal`, or the fifth error of another kind, sets the outcome `failed`: the delivery then holds up no
 * others, and is posted if it is sent again. Other errors are counted and thrown. If the database is unavailable or the webhook is deleted, `error` is thrown
 * and not counted.
 */
async function refused(platform: WorkerPlatform, delivery: DeliveryDoc, error: unknown): Promise<void> {
  if (isUnavailable(error) || !(await stillThere(platform, delivery.webhookId))) throw error;
  const final = error instanceof Refusal;
  if (!final && (delivery.tries ?? 0) + 1 < triesMax) {
    await platform.db.deliveries.updateOne({ _id: delivery._id }, { $inc: { tries: 1 } });
    throw error;
  }
  platform.log.error({ deliveryId: delivery._id, err: error }, 'delivery failed');
  const reason = final ? `the message was refused: ${error.code}` : `the message could not be stored in ${triesMax} tries`;
  await settle(platform, delivery, { outcome: 'failed', reason }, { deliveryId: 1, connects: 1 });
}

/** The message of a delivery, if a process stored it and died before it set the outcome. */
const storedOf = async (platform: Platform, { _id, begun, webhookId }: DeliveryDoc): Promise<MessageDoc | null> => {
  const stored = begun ? await messageOfCreate(platform, _id) : null;
  return stored?.authorId === webhookId ? stored : null;
};

/** The outcome of a delivery whose message is stored. */
const postedAs = ({ more }: DeliveryDoc, { _id: messageId }: MessageDoc): Pick<DeliveryDoc, 'outcome' | 'messageId'> => ({
  outcome: more ? 'merged' : 'posted',
  messageId,
});

/** Posts one delivery if the webhook's rate allows it. Otherwise returns after how many milliseconds it may. */
async function post(platform: WorkerPlatform, webhook: WebhookDoc, delivery: DeliveryDoc): Promise<number | null> {
  const earlier = await storedOf(platform, delivery);
  if (earlier) {
    await settle(platform, delivery, postedAs(delivery, earlier));
    return null;
  }
  const waitMs = await takePlace(platform, webhook._id, 'delivery');
  if (waitMs !== null) return waitMs;
  const claimed = await claim(platform, delivery);
  if (!claimed) return null;
  failpoint(platform.config, 'after-delivery-claim');
  let stored: MessageDoc;
  try {
    stored = await storeWebhookMessage(platform, webhook, {
      createId: claimed._id,
      content: '',
      embeds: [embedOf(claimed)],
      mentions: false,
    });
  } catch (error) {
    await refused(platform, claimed, error);
    return null;
  }
  failpoint(platform.config, 'after-delivery-message');
  await settle(platform, claimed, postedAs(claimed, stored));
  return null;
}

/** Posts the waiting deliveries, oldest first, until none waits, the rate allows no more, or `goesOn` returns false. Returns what `postDeliveries` does. */
async function drain(platform: WorkerPlatform, webhook: Held, goesOn: () => boolean): Promise<number | null> {
  await mergeOverflow(platform, webhook._id, goesOn);
  await trimDeliveries(platform, webhook._id, goesOn);
  for (let noted = false; goesOn(); noted = true) {
    const next = await nextOf(platform, webhook._id);
    if (!next) return null;
    if (!noted) await noteNewest(platform, webhook);
    const waitMs = await post(platform, webhook, next);
    if (waitMs !== null) return waitMs;
  }
  return 0;
}

/**
 * Posts the deliveries of one webhook in the order of their arrival, each once, at the pace of the webhook's rate (docs/behavior/webhooks.md#order-and-pace).
 * Deliveries that wait beyond the first 100 are merged first. Returns after how many milliseconds to run again, or null if nothing waits. Concurrent runs do no
 * harm: only one holds the webhook. If a paused process continues beside another one, a unique index still lets the message of a delivery be stored only once.
 * The deliveries of a deleted webhook are deleted.
 */
export async function postDeliveries(platform: WorkerPlatform, webhookId: string): Promise<number | null> {
  const until = performance.now() + drainMs;
  const webhook = await hold(platform, webhookId);
  if (!webhook) {
    if (await stillThere(platform, webhookId)) return busyMs;
    await forgetDeliveries(platform, webhookId);
    return null;
  }
  let restMs: number | null = null;
  try {
    restMs = await drain(platform, webhook, () => performance.now() < until);
  } catch (error) {
    if (await stillThere(platform, webhookId)) throw error;
    await forgetDeliveries(platform, webhookId);
  } finally {
    // If this fails, the webhook is free again at `drainAt`.
    await release(platform, webhook, restMs ?? 0).catch(() => undefined);
  }
  return restMs;
}

/** How long a delivery must have waited, and its webhook must have been free, before the sweep takes it up. In milliseconds. */
const sweepAfterMs = 2_000;
/** How many webhooks the sweep handles at once. */
const drainsAtOnce = 4;

/**
 * The webhooks, also deleted ones, with deliveries that have waited for more than 2 s. Webhooks that are held or paused, or were so within the last 2 s, are
 * left out.
 */
async function overdueWebhooks({ db, now }: Platform): Promise<string[]> {
  const before = new Date(now() - sweepAfterMs);
  const found = await db.deliveries.collection
    .aggregate<{ _id: string }>([{ $match: { outcome: 'waiting', at: { $lt: before } } }, { $group: { _id: '$webhookId' } }])
    .toArray();
  const ids = found.map(({ _id }) => _id);
  const busy = await db.webhooks.find({ _id: trusted({ $in: ids }), drainAt: trusted({ $gt: before }) }, { _id: 1 }).lean();
  const others = new Set(busy.map(({ _id }) => _id));
  return ids.filter((id) => !others.has(id));
}

/** Posts, without the queue, deliveries that wait because their job was lost or their worker died (docs/guarantees.md#sweeps). */
export const sweepDeliveries = async (platform: WorkerPlatform): Promise<void> =>
  forEachAtOnce(await overdueWebhooks(platform), drainsAtOnce, (webhookId) => postDeliveries(platform, webhookId));
