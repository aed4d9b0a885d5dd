import { withSharedFields } from '../../store/mongo/database.ts';
import { each, sweepDue } from '../../store/mongo/due.ts';
import type { Platform } from '../../store/platform.ts';

/** How long one count may take, and when a failed one is tried again, in milliseconds. */
const countTimeoutMs = 1_500;
const retryAfterMs = 60_000;

/**
 * A sweep that counts again what the documents of a collection store as `field`, where `recountAt` says that something was added or removed, and that was at
 * least a second ago. If more is added or removed during the count, the mark stays for the next sweep. A failed count does not stop the others. Their errors are
 * thrown at the end.
 */
export const sweepRecounts = (
  collection: 'servers' | 'channels' | 'applications',
  field: 'memberCount' | 'messageCount' | 'serverCount',
  countById: (platform: Platform, id: string, maxTimeMS: number) => Promise<number>,
): ((platform: Platform) => Promise<void>) =>
  sweepDue({
    collection,
    due: 'recountAt',
    afterMs: 1_000,
    fields: ['recountAt'],
    max: 100,
    run: each(async (platform: Platform, { _id, recountAt }) => {
      const counted = withSharedFields<{ recountAt?: Date | undefined }>(platform.db[collection]);
      const updateIfUnchanged = (update: object) => counted.updateOne({ _id, recountAt }, update);
      try {
        const count = await countById(platform, _id, countTimeoutMs);
        await updateIfUnchanged({ $set: { [field]: count }, $unset: { recountAt: 1 } });
      } catch (error) {
        await updateIfUnchanged({ $set: { recountAt: new Date(platform.now() + retryAfterMs) } });
        throw error;
      }
    }),
  });
