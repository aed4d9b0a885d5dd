import type { Platform } from '../../store/platform.ts';

/** How many messages one operation deletes, so that it stays far below the time limit of an operation. */
const batchMessages = 2_000;

/** Deletes every message of a deleted channel. Calls `beforeBatch` before each batch. */
export async function deleteMessages(platform: Platform, channelId: string, beforeBatch: () => Promise<unknown>): Promise<void> {
  const { messages } = platform.db;
  for (;;) {
    await beforeBatch();
    const found = await messages
      .find({ channelId }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .limit(batchMessages)
      .toArray();
    if (found.length > 0) await messages.deleteMany({ channelId, _id: { $lte: found[found.length - 1]?._id as string } });
    if (found.length < batchMessages) return;
  }
}
