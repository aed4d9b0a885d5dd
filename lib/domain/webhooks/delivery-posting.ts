import { Refusal } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { forEachLimit } from '../../base/for-each-limit.ts';
import { idTimeMs } from '../../base/ids.ts';
import type { Embed } from '../../contract/embed.ts';
import { exists, isUnavailable, relaxedWriteConcern } from '../../store/mongo/database.ts';
import { pagesByTime } from '../../store/mongo/due.ts';
import { type DeliveryDoc, recentIndex } from '../../store/mongo/models/delivery.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { WebhookDoc } from '../../store/mongo/models/webhook.ts';
import type { Platform, WorkerPlatform } from '../../store/platform.ts';
import { findNewestMessageId } from '../channels/dm-activity.ts';
import { findMessageByCreateId } from '../messages/draft.ts';
import { type Facts, renderDelivery, renderOverflow } from './codehost/index.ts';
import { deleteDeliveries, trimDeliveries } from './delivery-log.ts';
import { countMerged, mergeOverflow } from './delivery-overflow.ts';
import { storeWebhookMessage } from './posts.ts';
import { countPostOrDelayMs } from './rate.ts';

/** How long a run locks its webhook if it does not unlock it, because its process died. In milliseconds. */
const lockMs = 5_000;
/** A run older than this starts nothing more, because another run may soon lock its webhook. In milliseconds. */
const runMs = 4_000;
/** When to try again while another run has locked the webhook or it is paused, in milliseconds. */
const retryMs = 500;
/** How often storing a message is tried before its delivery has failed. */
const triesMax = 5;

/** A webhook that this process has locked until `drainAt`. */
type LockedWebhook = WebhookDoc & { drainAt: Date };

/**
 * Locks a webhook, by one conditional update with the database's clock, so that one run at a time posts its deliveries. Returns null if another run has locked
 * it, or it is paused.
 */
async function lockWebhook({ db }: Platform, webhookId: string): Promise<LockedWebhook | null> {
  const isUnlocked = { $lte: [{ $ifNull: ['$drainAt', new Date(0)] }, '$$NOW'] };
  const locked = await db.webhooks.findOneAndUpdate(
    { _id: webhookId, $expr: isUnlocked },
    [{ $set: { drainAt: { $add: ['$$NOW', lockMs] } } }],
    { returnDocument: 'after', ...relaxedWriteConcern },
  );
  return locked as LockedWebhook | null;
}

/** Unlocks a webhook and pauses it for `pauseMs`, because nothing can be posted before. */
async function unlockWebhook({ db }: Platform, { _id, drainAt }: LockedWebhook, pauseMs: number): Promise<void> {
  await db.webhooks.updateOne({ _id, drainAt }, [{ $set: { drainAt: { $add: ['$$NOW', pauseMs] } } }], relaxedWriteConcern);
}

const webhookExists = ({ db }: Platform, webhookId: string): Promise<boolean> => exists(db.webhooks, { _id: webhookId });

/** The oldest waiting delivery of a webhook. */
const findNextDelivery = async ({ db }: Platform, webhookId: string): Promise<DeliveryDoc | null> =>
  await db.deliveries.findOne(
    { webhookId, recent: true, outcome: 'waiting' },
    {
      sort: { _id: 1 },
      hint: recentIndex,
    },
  );

/** A time that the id of the next message in the channel is above: that of the newest one, even if it was made by a clock that is ahead. */
async function findIdBound(platform: Platform, { channelId }: WebhookDoc): Promise<number> {
  const newest = await findNewestMessageId(platform, channelId);
  return newest === null ? 0 : idTimeMs(newest) + 1;
}

/** Marks a delivery as begun and fixes the content of its message, before the message is stored. Returns null if another run changed the delivery first. */
async function claim(platform: WorkerPlatform, delivery: DeliveryDoc): Promise<DeliveryDoc | null> {
  const { _id, webhookId, begun, more } = delivery;
  if (begun) return delivery;
  const set = { begun: true as const, ...(more ? { count: await countMerged(platform, delivery) } : {}) };
  const filter = { _id, webhookId, outcome: 'waiting' as const, begun: { $exists: false } };
  const { modifiedCount } = await platform.db.deliveries.updateOne(filter, { $set: set });
  return modifiedCount === 1 ? { ...delivery, ...set } : null;
}

const toDeliveryEmbed = ({ more, count = 1, facts }: DeliveryDoc): Embed => (more ? renderOverflow(count) : renderDelivery(facts as Facts));

/** Sets the outcome of a waiting delivery. If a crash of the database undoes this, the next run finds the stored message and sets the outcome again. */
async function setOutcome(
  { db }: Platform,
  { _id, webhookId }: DeliveryDoc,
  set: Pick<DeliveryDoc, 'outcome'> & Partial<DeliveryDoc>,
  unset: object = {},
): Promise<void> {
  await db.deliveries.updateOne({ _id, webhookId, outcome: 'waiting' }, { $set: set, $unset: { facts: 1, ...unset } }, relaxedWriteConcern);
}

/**
 * Handles an error of storing a delivery's message. A `Refusal`, or the fifth error of another kind, sets the outcome `failed`: the delivery then holds up no
 * others, and is posted if it is sent again. Other errors are counted and thrown. If the database is unavailable or the webhook is deleted, `error` is thrown
 * and not counted.
 */
async function handlePostError(platform: WorkerPlatform, delivery: DeliveryDoc, error: unknown): Promise<void> {
  if (isUnavailable(error) || !(await webhookExists(platform, delivery.webhookId))) throw error;
  const isFinal = error instanceof Refusal;
  if (!isFinal && (delivery.tries ?? 0) + 1 < triesMax) {
    await platform.db.deliveries.updateOne({ _id: delivery._id, webhookId: delivery.webhookId }, { $inc: { tries: 1 } });
    throw error;
  }
  platform.log.error({ deliveryId: delivery._id, err: error }, 'webhook delivery failed');
  const reason = isFinal ? `the message was refused: ${error.code}` : `the message could not be stored in ${triesMax} tries`;
  await setOutcome(platform, delivery, { outcome: 'failed', reason }, { deliveryId: 1, connects: 1 });
}

/** The message of a delivery, if a process stored it and died before it set the outcome. */
const findStoredMessage = async (
  platform: Platform,
  { channelId }: WebhookDoc,
  { _id, begun, webhookId }: DeliveryDoc,
): Promise<MessageDoc | null> => {
  const stored = begun ? await findMessageByCreateId(platform, channelId, _id) : null;
  return stored?.authorId === webhookId ? stored : null;
};

/** The outcome of a delivery whose message is stored. */
const toPostedOutcome = ({ more }: DeliveryDoc, { _id: messageId }: MessageDoc): Pick<DeliveryDoc, 'outcome' | 'messageId'> => ({
  outcome: more ? 'merged' : 'posted',
  messageId,
});

/** Posts one delivery if the webhook's rate allows it, under an id above the time `after`. Otherwise returns after how many milliseconds it may. */
async function postDelivery(platform: WorkerPlatform, webhook: WebhookDoc, delivery: DeliveryDoc, after: number): Promise<number | null> {
  const existing = await findStoredMessage(platform, webhook, delivery);
  if (existing) {
    await setOutcome(platform, delivery, toPostedOutcome(delivery, existing));
    return null;
  }
  const waitMs = await countPostOrDelayMs(platform, webhook._id, 'delivery');
  if (waitMs !== null) return waitMs;
  const claimed = await claim(platform, delivery);
  if (!claimed) return null;
  failpoint(platform.config, 'after-delivery-claim');
  let stored: MessageDoc;
  try {
    stored = await storeWebhookMessage(platform, webhook, {
      createId: claimed._id,
      content: '',
      embeds: [toDeliveryEmbed(claimed)],
      canMention: false,
      after,
    });
  } catch (error) {
    await handlePostError(platform, claimed, error);
    return null;
  }
  failpoint(platform.config, 'after-delivery-message');
  await setOutcome(platform, claimed, toPostedOutcome(claimed, stored));
  return null;
}

/**
 * Posts the waiting deliveries, oldest first, until none waits, the rate allows no more, or `shouldContinue` returns false. Returns what `postDeliveries` does.
 */
async function postWaiting(platform: WorkerPlatform, webhook: LockedWebhook, shouldContinue: () => boolean): Promise<number | null> {
  await mergeOverflow(platform, webhook._id, shouldContinue);
  await trimDeliveries(platform, webhook._id, shouldContinue);
  for (let after: number | null = null; shouldContinue(); ) {
    const next = await findNextDelivery(platform, webhook._id);
    if (!next) return null;
    after ??= await findIdBound(platform, webhook);
    const waitMs = await postDelivery(platform, webhook, next, after);
    if (waitMs !== null) return waitMs;
  }
  return 0;
}

/**
 * Posts the deliveries of one webhook in the order of their arrival, each once, at the pace of the webhook's rate (docs/behavior/webhooks.md#order-and-pace).
 * Deliveries that wait beyond the first 100 are merged first. Returns after how many milliseconds to run again, or null if nothing waits. Concurrent runs do no
 * harm: only one locks the webhook. If a paused process continues beside another one, a unique index still lets the message of a delivery be stored only once.
 * The deliveries of a deleted webhook are deleted.
 */
export async function postDeliveries(platform: WorkerPlatform, webhookId: string): Promise<number | null> {
  const deadlineMs = performance.now() + runMs;
  const webhook = await lockWebhook(platform, webhookId);
  if (!webhook) {
    if (await webhookExists(platform, webhookId)) return retryMs;
    await deleteDeliveries(platform, webhookId);
    return null;
  }
  let pauseMs: number | null = null;
  try {
    pauseMs = await postWaiting(platform, webhook, () => performance.now() < deadlineMs);
  } catch (error) {
    if (await webhookExists(platform, webhookId)) throw error;
    await deleteDeliveries(platform, webhookId);
  } finally {
    // If this fails, the lock ends at `drainAt`.
    await unlockWebhook(platform, webhook, pauseMs ?? 0).catch(() => undefined);
  }
  return pauseMs;
}

/** How long a delivery must have waited, and its webhook must have been free, before the sweep takes it up. In milliseconds. */
const sweepAfterMs = 2_000;
/** How many webhooks the sweep handles at once, and how many deliveries it reads in one page. */
const sweepConcurrency = 4;
const sweepDeliveriesMax = 1_000;

/**
 * Finds the webhooks, also deleted ones, with deliveries that have waited for more than 2 s, oldest first, each once. Webhooks that are locked or paused, or
 * were so within the last 2 s, are left out.
 */
async function* findOverdueWebhooks({ db, now }: Platform): AsyncGenerator<string[], void> {
  const before = new Date(now() - sweepAfterMs);
  const foundIds = new Set<string>();
  const findOverduePage = (from: Date | null, leftOut: readonly string[]) =>
    db.deliveries
      .find(
        { outcome: 'waiting', at: { $gte: from ?? new Date(0), $lte: before }, _id: { $nin: leftOut } },
        { projection: { webhookId: 1, at: 1 }, sort: { at: 1 }, limit: sweepDeliveriesMax },
      )
      .toArray();
  for await (const found of pagesByTime('at', sweepDeliveriesMax, findOverduePage)) {
    const ids = [...new Set(found.map(({ webhookId }) => webhookId))].filter((id) => !foundIds.has(id));
    for (const id of ids) foundIds.add(id);
    const busy = await db.webhooks.find({ _id: { $in: ids }, drainAt: { $gt: before } }, { projection: { _id: 1 } }).toArray();
    const busyIds = new Set(busy.map(({ _id }) => _id));
    yield ids.filter((id) => !busyIds.has(id));
  }
}

/** Posts, without the queue, deliveries that wait because their job was lost or their worker died (docs/guarantees.md#sweeps). */
export async function sweepDeliveries(platform: WorkerPlatform): Promise<void> {
  for await (const webhookIds of findOverdueWebhooks(platform))
    await forEachLimit(webhookIds.filter(platform.shares.isOwner), sweepConcurrency, (webhookId) => postDeliveries(platform, webhookId));
}
