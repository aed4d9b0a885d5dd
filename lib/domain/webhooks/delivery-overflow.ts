import { limits } from '../../base/limits.ts';
import { type DeliveryDoc, recentIndex } from '../../store/mongo/models/delivery.ts';
import type { Platform } from '../../store/platform.ts';
import { batchDeliveries } from './delivery-log.ts';

const reason = `more than ${limits.deliveriesWaiting} deliveries were waiting, so this one was posted together with others`;
const waitingFilter = { outcome: 'waiting', begun: { $exists: false } } as const;

type WaitingDelivery = Pick<DeliveryDoc, '_id' | 'more' | 'begun'>;

/** The waiting deliveries of a webhook with an id after `after`, oldest first. */
const findWaiting = async ({ db }: Platform, webhookId: string, after: string, limit: number): Promise<WaitingDelivery[]> =>
  (await db.deliveries
    .find({ webhookId, recent: true, outcome: 'waiting', _id: { $gt: after } })
    .project({ more: 1, begun: 1 })
    .sort({ _id: 1 })
    .hint(recentIndex)
    .limit(limit)
    .toArray()) as WaitingDelivery[];

/**
 * Merges the deliveries of a webhook that wait beyond the first 100 into one post, "and N more events", in the place of the first of them
 * (docs/behavior/webhooks.md#overflow). While such a post waits, later deliveries are merged into it. Only marks are written; N is counted from them when the
 * post is made, so N is right even if a run was interrupted. The caller must have locked the webhook.
 */
export async function mergeOverflow(platform: Platform, webhookId: string, shouldContinue: () => boolean): Promise<void> {
  const { deliveries } = platform.db;
  // Enough to find 101 events, one merged post that has begun, and one that has not.
  const first = await findWaiting(platform, webhookId, '', limits.deliveriesWaiting + 3);
  const events = first.filter(({ more }) => !more);
  const existing = first.find(({ more, begun }) => more && !begun);
  const mergedPost = existing ?? events[limits.deliveriesWaiting];
  if (events.length <= limits.deliveriesWaiting || !mergedPost) return;
  if (!existing)
    await deliveries.updateOne(
      { _id: mergedPost._id, webhookId, ...waitingFilter },
      { $set: { more: true, reason }, $unset: { facts: 1 } },
    );
  for (let after = mergedPost._id; shouldContinue(); ) {
    const rest = await findWaiting(platform, webhookId, after, batchDeliveries);
    const ids = rest.map(({ _id }) => _id);
    const merged = { outcome: 'merged', reason, into: mergedPost._id } as const;
    if (ids.length) await deliveries.updateMany({ _id: { $in: ids }, webhookId, ...waitingFilter }, { $set: merged, $unset: { facts: 1 } });
    if (ids.length < batchDeliveries) return;
    after = ids.at(-1) as string;
  }
}

/** How many events the merged post `mergedPost` represents: its own, and those that were merged into it. */
export const countMerged = async ({ db }: Platform, { _id, webhookId }: DeliveryDoc): Promise<number> =>
  1 + (await db.deliveries.countDocuments({ into: _id, webhookId }));
