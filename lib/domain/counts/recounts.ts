import { forEachLimit } from '../../base/for-each-limit.ts';
import { type Collections, withSharedFields } from '../../store/mongo/database.ts';
import { dueUntil } from '../../store/mongo/due.ts';
import type { Platform } from '../../store/platform.ts';

/** A count starts when nothing was added or removed for this long, in milliseconds. */
const quietMs = 1_000;
/** How many counts one sweep makes. */
const sweepMax = 100;
/** How long one count may take, and when a failed one is tried again, in milliseconds. */
const countTimeoutMs = 1_500;
const retryAfterMs = 60_000;

/**
 * Counts what the documents of `counted` store as `field` again, where `recountAt` says that something was added or removed, and that was at least a second
 * ago. If more is added or removed during the count, the mark stays for the next sweep. A failed count does not stop the others. Their errors are thrown at the
 * end.
 */
export async function recountDueDocuments(
  platform: Platform,
  counted: Collections['servers' | 'channels' | 'applications'],
  field: 'memberCount' | 'messageCount' | 'serverCount',
  countById: (id: string, maxTimeMS: number) => Promise<number>,
): Promise<void> {
  const collection = withSharedFields<{ recountAt?: Date }>(counted);
  const found = await collection
    .find({ recountAt: dueUntil(new Date(platform.now() - quietMs)) })
    .project<{ _id: string; recountAt: Date }>({ recountAt: 1 })
    .sort({ recountAt: 1 })
    .limit(sweepMax)
    .toArray();
  await forEachLimit(found, 1, async ({ _id, recountAt }) => {
    const updateIfUnchanged = (update: object) => collection.updateOne({ _id, recountAt }, update);
    try {
      const count = await countById(_id, countTimeoutMs);
      await updateIfUnchanged({ $set: { [field]: count }, $unset: { recountAt: 1 } });
    } catch (error) {
      await updateIfUnchanged({ $set: { recountAt: new Date(platform.now() + retryAfterMs) } });
      throw error;
    }
  });
}
