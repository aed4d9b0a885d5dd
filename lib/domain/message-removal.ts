import { trusted } from '../store/database.ts';
import type { Platform } from '../store/platform.ts';

/** Messages deleted in one operation: far below the time that one operation may take. */
const batch = 2_000;

/** Deletes every message of channels that are gone, so that nobody can read them any more. */
export async function deleteMessages(platform: Platform, channelIds: readonly string[]): Promise<void> {
  const { messages } = platform.db;
  for (const channelId of channelIds)
    for (;;) {
      const found = await messages.find({ channelId }, { _id: 1 }).sort({ _id: 1 }).limit(batch).lean();
      if (found.length > 0) await messages.deleteMany({ channelId, _id: trusted({ $lte: found[found.length - 1]?._id as string }) });
      if (found.length < batch) break;
    }
}
