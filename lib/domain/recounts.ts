import { forEachAtOnce } from '../base/at-once.ts';
import type { Collections } from '../store/database.ts';
import type { Platform } from '../store/platform.ts';

/** How long nothing came or went before something is counted, in milliseconds. */
const quietMs = 1_000;
/** How many counts one sweep makes. */
const countsMost = 100;
/** How long one count may take, in milliseconds, and when one that failed is tried again. */
const countMs = 1_500;
const countAgainMs = 60_000;

/**
 * Counts anew what the documents of `collection` keep as `field`, where `recountAt` says that something came or went and it is quiet now. One where more comes
 * meanwhile keeps its mark for the next sweep; one that cannot be counted holds up no other. The first fault is thrown at the end.
 */
export async function recountMarked(
  platform: Platform,
  { collection }: Collections['servers' | 'channels' | 'applications'],
  field: 'memberCount' | 'messageCount' | 'serverCount',
  countOf: (id: string, maxTimeMS: number) => Promise<number>,
): Promise<void> {
  const found = await collection
    .find({ recountAt: { $lte: new Date(platform.now() - quietMs) } })
    .project<{ _id: unknown; recountAt: Date }>({ recountAt: 1 })
    .sort({ recountAt: 1 })
    .limit(countsMost)
    .toArray();
  await forEachAtOnce(found, 1, async ({ _id, recountAt }) => {
    const change = (update: object) => collection.updateOne({ _id: _id as never, recountAt }, update);
    try {
      const count = await countOf(String(_id), countMs);
      await change({ $set: { [field]: count }, $unset: { recountAt: 1 } });
    } catch (error) {
      await change({ $set: { recountAt: new Date(platform.now() + countAgainMs) } });
      throw error;
    }
  });
}
