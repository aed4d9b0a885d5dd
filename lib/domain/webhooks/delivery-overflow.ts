import { limits } from '../../base/limits.ts';
import { trusted } from '../../store/mongo/database.ts';
import { type DeliveryDoc, recentIndex } from '../../store/mongo/models/delivery.ts';
import type { Platform } from '../../store/platform.ts';
import { chunk } from './delivery-log.ts';

const reason = `more than ${limits.deliveriesWaiting} were waiting: told together with others`;
const open = { outcome: 'waiting', begun: trusted({ $exists: false }) } as const;

type Waiting = Pick<DeliveryDoc, '_id' | 'more' | 'begun'>;

/** The waiting deliveries of a webhook with an id after `after`, oldest first. */
const waitingOf = async ({ db }: Platform, webhookId: string, after: string, limit: number): Promise<Waiting[]> =>
  (await db.deliveries.collection
    .find({ webhookId, recent: true, outcome: 'waiting', _id: { $gt: after } } as never)
    .project({ more: 1, begun: 1 })
    .sort({ _id: 1 })
    .hint(recentIndex)
    .limit(limit)
    .toArray()) as unknown as Waiting[];

/**
 * Merges the deliveries of a webhook that wait beyond the first 100 into one post, "and N more events", in the place of the first of them
 * (docs/behavior/webhooks.md#overflow). While such a post waits, later deliveries are merged into it. Only marks are written; N is counted from them when the
 * post is made, so N is right even if a run was interrupted. The caller must hold the webhook.
 */
export async function mergeOverflow(platform: Platform, webhookId: string, goesOn: () => boolean): Promise<void> {
  const { deliveries } = platform.db;
  // Enough to find 101 events, one merged post that has begun, and one that has not.
  const first = await waitingOf(platform, webhookId, '', limits.deliveriesWaiting + 3);
  const events = first.filter(({ more }) => !more);
  const standing = first.find(({ more, begun }) => more && !begun);
  const carrier = standing ?? events[limits.deliveriesWaiting];
  if (events.length <= limits.deliveriesWaiting || !carrier) return;
  if (!standing) await deliveries.updateOne({ _id: carrier._id, ...open }, { $set: { more: true, reason }, $unset: { facts: 1 } });
  for (let after = carrier._id; goesOn(); ) {
    const rest = await waitingOf(platform, webhookId, after, chunk);
    const ids = rest.map(({ _id }) => _id);
    const merged = { outcome: 'merged', reason, into: carrier._id } as const;
    if (ids.length) await deliveries.updateMany({ _id: trusted({ $in: ids }), ...open }, { $set: merged, $unset: { facts: 1 } });
    if (ids.length < chunk) return;
    after = ids.at(-1) as string;
  }
}

/** How many events the merged post `carrier` represents: its own, and those that were merged into it. */
export const countMerged = async ({ db }: Platform, carrier: Pick<DeliveryDoc, '_id'>): Promise<number> =>
  1 + (await db.deliveries.countDocuments({ into: carrier._id }));
