import { limits } from '../../base/limits.ts';
import type { WebhookDelivery, WebhookDeliveryPage } from '../../contract/webhook-delivery.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { DeliveryDoc } from '../../store/mongo/models/delivery.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import { countInBucket } from '../../store/redis/preflight.ts';
import type { Actor } from '../access/checks.ts';
import type { ParsedDelivery } from './codehost/index.ts';
import { findLoggedDeliveries } from './delivery-log.ts';
import { requireManagedWebhook } from './webhooks.ts';

/** A delivery of a code host, after it was parsed. */
export interface ReceivedDelivery {
  event: string;
  /** The id that the code host gave it; null if it has none or a too long one. Such a delivery is never treated as a repeat. */
  deliveryId: string | null;
  parsed: ParsedDelivery;
}

const secondPing = { outcome: 'ignored', reason: 'the webhook was already connected' } as const;

/**
 * Frees the id of a delivery that is older than 24 hours, so that a new delivery with this id is posted (docs/behavior/webhooks.md#repeated-deliveries).
 * Returns whether an id was freed.
 */
async function releaseOldId(platform: Platform, webhookId: string, deliveryId: string): Promise<boolean> {
  const expiredAt = { $lt: new Date(platform.now() - limits.deliveryRetentionMs) };
  const filter = { webhookId, deliveryId, at: expiredAt, outcome: { $ne: 'waiting' as const } };
  return (await platform.db.deliveries.updateOne(filter, { $unset: { deliveryId: 1 } })).modifiedCount > 0;
}

/**
 * Stores a delivery; returns null if it is a repeat. A second `ping` of a webhook is stored as ignored. Unique indexes decide, so this also holds for
 * concurrent deliveries.
 */
async function storeDelivery(platform: Platform, doc: DeliveryDoc): Promise<DeliveryDoc | null> {
  const { deliveries } = platform.db;
  if (await insertNew(deliveries, doc)) return doc;
  if (doc.deliveryId !== undefined && (await releaseOldId(platform, doc.webhookId, doc.deliveryId)) && (await insertNew(deliveries, doc)))
    return doc;
  if (!doc.connects) return null;
  const { connects: _connects, facts: _facts, ...rest } = doc;
  const ignored = { ...rest, ...secondPing };
  return (await insertNew(deliveries, ignored)) ? ignored : null;
}

/** Whether an ignored delivery is added to the log. A webhook that gets very many has only a part of them in its log, so that they cannot fill the database. */
async function shouldLog({ preflight }: ApiPlatform, webhookId: string): Promise<boolean> {
  const bucket = {
    key: `ignored:${webhookId}`,
    perSecond: limits.deliveriesIgnoredPerSecond,
    burst: limits.deliveriesIgnoredBurst,
  };
  return (await countInBucket(preflight, bucket))?.isAllowed !== false;
}

/**
 * Stores a delivery in one write and wakes the worker that posts it (docs/behavior/webhooks.md#delivery-requests). Returns whether it will be posted. It will
 * not if events of its kind post nothing, if it repeats a delivery of the last 24 hours that waits or was posted, or if it is a second `ping`. One that failed
 * is posted when it is sent again.
 */
export async function acceptDelivery(
  platform: ApiPlatform,
  webhookId: string,
  { event, deliveryId, parsed }: ReceivedDelivery,
  newId: string,
): Promise<boolean> {
  const isPosted = 'facts' in parsed;
  if (!isPosted && !(await shouldLog(platform, webhookId))) return false;
  const { action } = parsed;
  const stored = await storeDelivery(platform, {
    _id: newId,
    webhookId,
    ...(deliveryId === null ? {} : { deliveryId }),
    ...(isPosted && parsed.facts.event === 'ping' ? { connects: true } : {}),
    event,
    action,
    ...(isPosted ? { outcome: 'waiting', reason: null, facts: parsed.facts } : { outcome: 'ignored', reason: parsed.ignored }),
    at: new Date(platform.now()),
    recent: true,
  });
  // Wakes the worker for ignored deliveries too, because it trims the log.
  if (stored) platform.jobs.tryEnqueue('post-deliveries', { webhookId });
  return stored?.outcome === 'waiting';
}

const toWebhookDelivery = ({ _id, at, event, action, outcome, reason }: DeliveryDoc): WebhookDelivery => ({
  id: _id,
  at: at.toISOString(),
  event,
  action,
  outcome: outcome as WebhookDelivery['outcome'],
  reason,
});

/** Returns the last 50 deliveries to a webhook, newest first, without those that still wait. Refuses as `requireManagedWebhook` does. */
export async function listWebhookDeliveries(platform: Platform, actor: Actor, webhookId: string): Promise<WebhookDeliveryPage> {
  const { _id } = await requireManagedWebhook(platform, actor, webhookId);
  const found = await findLoggedDeliveries(platform, _id, 0, limits.webhookDeliveriesListed);
  return { items: found.map(toWebhookDelivery), hasMore: false };
}
