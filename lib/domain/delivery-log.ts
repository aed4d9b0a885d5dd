import { limits } from '../base/limits.ts';
import { bookkeeping, trusted } from '../store/database.ts';
import { type DeliveryDoc, recentIndex } from '../store/models/delivery.ts';
import type { Platform } from '../store/platform.ts';

/** How many deliveries one write takes in: far below the time that one operation may take. */
export const chunk = 250;

/** The deliveries of a webhook that do not wait any more and are kept for its log, newest first, but for the first `skip`. */
export const lastOf = async ({ db }: Platform, webhookId: string, skip: number, limit: number): Promise<DeliveryDoc[]> =>
  (await db.deliveries.collection
    .find({ webhookId, recent: true, outcome: { $ne: 'waiting' } })
    .project({ facts: 0 })
    .sort({ _id: -1 })
    .hint(recentIndex)
    .skip(skip)
    .limit(limit)
    .toArray()) as unknown as DeliveryDoc[];

/**
 * Keeps the log short: of what came before the last 50 that do not wait, ignored deliveries go, and the others stay until they are 24 hours old, as one of the
 * same id posts once in that time. The connected notice stays for good.
 */
export async function trimDeliveries(platform: Platform, webhookId: string, goesOn: () => boolean): Promise<void> {
  const { deliveries } = platform.db;
  const expiresAt = { $cond: [{ $ifNull: ['$connects', false] }, '$$REMOVE', { $add: ['$at', limits.deliveryKeptMs] }] };
  for (;;) {
    const old = await lastOf(platform, webhookId, limits.webhookDeliveriesListed, chunk);
    const ids = (ignored: boolean): string[] => old.filter((one) => (one.outcome === 'ignored') === ignored).map(({ _id }) => _id);
    if (ids(true).length) await deliveries.deleteMany({ _id: trusted({ $in: ids(true) }) }, bookkeeping);
    if (ids(false).length)
      await deliveries.collection.updateMany(
        { _id: { $in: ids(false) } } as never,
        [{ $set: { recent: '$$REMOVE', expiresAt } }],
        bookkeeping,
      );
    if (old.length < chunk || !goesOn()) return;
  }
}

/** Deletes the deliveries of a webhook that is gone; what is not recent goes by itself within 24 hours. */
export async function forgetDeliveries({ db }: Platform, webhookId: string): Promise<void> {
  const { deliveries } = db;
  await deliveries.deleteMany({ webhookId, connects: true });
  for (;;) {
    const found = await deliveries.find({ webhookId, recent: true }, { _id: 1 }).limit(chunk).lean();
    await deliveries.deleteMany({ _id: trusted({ $in: found.map(({ _id }) => _id) }) });
    if (found.length < chunk) return;
  }
}

/** Lets the log of a webhook that is about to be deleted end by itself, whatever dies then. What waits stays: if the webhook is gone, a worker finds that out. */
export async function expireDeliveries(platform: Platform, webhookId: string): Promise<void> {
  const expiresAt = new Date(platform.now());
  const { deliveries } = platform.db;
  await deliveries.updateMany({ webhookId, recent: true, outcome: trusted({ $ne: 'waiting' }) }, { $set: { expiresAt } });
  await deliveries.updateMany({ webhookId, connects: true }, { $set: { expiresAt } });
}
