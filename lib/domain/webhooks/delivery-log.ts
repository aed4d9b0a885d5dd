import { limits } from '../../base/limits.ts';
import { relaxedWriteConcern } from '../../store/mongo/database.ts';
import { type DeliveryDoc, recentIndex } from '../../store/mongo/models/delivery.ts';
import type { Platform } from '../../store/platform.ts';
import { toDurationMs } from '../retention.ts';

/** How many deliveries one write changes: few enough that it takes far less time than one operation may take. */
export const batchDeliveries = 250;

/** The deliveries in the log of a webhook, newest first, without the first `skip`. Waiting deliveries are not in the log. */
export const findLoggedDeliveries = async ({ db }: Platform, webhookId: string, skip: number, limit: number): Promise<DeliveryDoc[]> =>
  (await db.deliveries
    .find({ webhookId, recent: true, outcome: { $ne: 'waiting' } })
    .project({ facts: 0 })
    .sort({ _id: -1 })
    .hint(recentIndex)
    .skip(skip)
    .limit(limit)
    .toArray()) as DeliveryDoc[];

/**
 * Trims the log of a webhook to the last 50 deliveries that no longer wait. Older ignored deliveries are deleted. Other older ones are kept until they are 24
 * hours old, because until then a delivery with the same id is a repeat. With DELIVERY_RETENTION_DAYS those of the log expire, too. The connected notice does
 * not expire.
 */
export async function trimDeliveries(platform: Platform, webhookId: string, shouldContinue: () => boolean): Promise<void> {
  const { deliveries } = platform.db;
  const expiresAt = { $cond: [{ $ifNull: ['$connects', false] }, '$$REMOVE', { $add: ['$at', limits.deliveryRetentionMs] }] };
  for (;;) {
    const old = await findLoggedDeliveries(platform, webhookId, limits.webhookDeliveriesListed, batchDeliveries);
    const idsWhere = (ignored: boolean): string[] => old.filter((one) => (one.outcome === 'ignored') === ignored).map(({ _id }) => _id);
    if (idsWhere(true).length) await deliveries.deleteMany({ _id: { $in: idsWhere(true) }, webhookId }, relaxedWriteConcern);
    const kept = { _id: { $in: idsWhere(false) }, webhookId };
    if (idsWhere(false).length) await deliveries.updateMany(kept, [{ $set: { recent: '$$REMOVE', expiresAt } }], relaxedWriteConcern);
    if (old.length < batchDeliveries || !shouldContinue()) break;
  }
  const days = platform.config.DELIVERY_RETENTION_DAYS;
  if (days === null) return;
  const logged = { webhookId, recent: true as const, outcome: { $ne: 'waiting' as const }, connects: { $exists: false } };
  await deliveries.updateMany(
    { ...logged, expiresAt: { $exists: false } },
    [{ $set: { expiresAt: { $add: ['$at', toDurationMs(days)] } } }],
    { ...relaxedWriteConcern, hint: recentIndex },
  );
}

/** Deletes the deliveries of a deleted webhook. Those that are no longer `recent` expire within 24 hours. */
export async function deleteDeliveries({ db }: Platform, webhookId: string): Promise<void> {
  const { deliveries } = db;
  await deliveries.deleteMany({ webhookId, connects: true });
  for (;;) {
    const found = await deliveries
      .find({ webhookId, recent: true }, { projection: { _id: 1 } })
      .limit(batchDeliveries)
      .toArray();
    await deliveries.deleteMany({ _id: { $in: found.map(({ _id }) => _id) }, webhookId });
    if (found.length < batchDeliveries) return;
  }
}

/**
 * Makes the log of a webhook expire before the webhook is deleted, so that a crash leaves nothing behind. Waiting deliveries stay: a worker deletes them when
 * it finds that the webhook is deleted.
 */
export async function expireDeliveries(platform: Platform, webhookId: string): Promise<void> {
  const expiresAt = new Date(platform.now());
  const { deliveries } = platform.db;
  await deliveries.updateMany({ webhookId, recent: true, outcome: { $ne: 'waiting' } }, { $set: { expiresAt } });
  await deliveries.updateMany({ webhookId, connects: true }, { $set: { expiresAt } });
}
