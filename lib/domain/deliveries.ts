import { limits } from '../base/limits.ts';
import type { WebhookDelivery, WebhookDeliveryPage } from '../contract/delivery.ts';
import { trusted } from '../store/database.ts';
import { insertNew } from '../store/insert.ts';
import type { DeliveryDoc } from '../store/models/delivery.ts';
import type { ApiPlatform, Platform } from '../store/platform.ts';
import type { Actor } from './access.ts';
import type { Reading } from './codehost/index.ts';
import { lastOf } from './delivery-log.ts';
import { managedWebhook } from './webhooks.ts';

/** A delivery as it arrived, read. */
export interface Arrival {
  event: string;
  /** How the code host names it; null when it does not, or at too great length: then it is never taken for another. */
  deliveryId: string | null;
  reading: Reading;
}

const dropped = { outcome: 'ignored', reason: 'the webhook was already connected' } as const;

/** Frees the id of a delivery that is older than 24 hours, so it posts again (docs/behavior/webhooks.md#repeated-deliveries). Returns whether it did. */
async function freeOld(platform: Platform, webhookId: string, deliveryId: string): Promise<boolean> {
  const old = trusted({ $lt: new Date(platform.now() - limits.deliveryKeptMs) });
  const filter = { webhookId, deliveryId, at: old, outcome: trusted({ $ne: 'waiting' }) };
  return (await platform.db.deliveries.updateOne(filter, { $unset: { deliveryId: 1 } })).modifiedCount > 0;
}

/** Stores a delivery; null when it came before, or another connected the webhook: unique indexes decide, however many come at once. */
async function store(platform: Platform, doc: DeliveryDoc): Promise<DeliveryDoc | null> {
  const { deliveries } = platform.db;
  if (await insertNew(deliveries, doc)) return doc;
  if (doc.deliveryId !== undefined && (await freeOld(platform, doc.webhookId, doc.deliveryId)) && (await insertNew(deliveries, doc)))
    return doc;
  if (!doc.connects) return null;
  const { connects: _connects, facts: _facts, ...plain } = doc;
  const second = { ...plain, ...dropped };
  return (await insertNew(deliveries, second)) ? second : null;
}

/** Whether an ignored delivery goes into the log: a webhook that gets very many shows a part of them, so that they cannot fill the database. */
async function isKept({ gate }: ApiPlatform, webhookId: string): Promise<boolean> {
  const bucket = {
    key: `ignored:${webhookId}`,
    perSecond: limits.deliveriesIgnoredPerSecond,
    burst: limits.deliveriesIgnoredBurst,
  };
  const { verdict } = await gate({ bucket, versionsOf: [], wantId: false });
  return verdict?.allowed !== false;
}

/**
 * Stores a delivery in one write and wakes the worker that posts it (docs/behavior/webhooks.md#delivery-requests). Returns whether it will be posted. It will
 * not if its kind posts nothing, if the same one came within 24 hours and waits or was posted, or if it is a second `ping`. One that failed is posted when
 * it is sent again.
 */
export async function acceptDelivery(
  platform: ApiPlatform,
  webhookId: string,
  { event, deliveryId, reading }: Arrival,
  newId: string,
): Promise<boolean> {
  const posts = 'facts' in reading;
  if (!posts && !(await isKept(platform, webhookId))) return false;
  const { action } = reading;
  const stored = await store(platform, {
    _id: newId,
    webhookId,
    ...(deliveryId === null ? {} : { deliveryId }),
    ...(posts && reading.facts.event === 'ping' ? { connects: true } : {}),
    event,
    action,
    ...(posts ? { outcome: 'waiting', reason: null, facts: reading.facts } : { outcome: 'ignored', reason: reading.ignored }),
    at: new Date(platform.now()),
    recent: true,
  });
  // What is ignored is nudged for too: the worker keeps the log short.
  if (stored) platform.nudge('post-deliveries', { webhookId });
  return stored?.outcome === 'waiting';
}

const shown = ({ _id, at, event, action, outcome, reason }: DeliveryDoc): WebhookDelivery => ({
  id: _id,
  at: at.toISOString(),
  event,
  action,
  outcome: outcome as WebhookDelivery['outcome'],
  reason,
});

/** The last 50 deliveries to a webhook whose outcome is known, newest first; one that waits comes when it is posted. Refuses as `managedWebhook`. */
export async function listWebhookDeliveries(platform: Platform, actor: Actor, webhookId: string): Promise<WebhookDeliveryPage> {
  const { _id } = await managedWebhook(platform, actor, webhookId);
  const found = await lastOf(platform, _id, 0, limits.webhookDeliveriesListed);
  return { items: found.map(shown), hasMore: false };
}
