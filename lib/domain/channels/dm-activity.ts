import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { Platform } from '../../store/platform.ts';

/**
 * Records in a DM that a message was posted. If posts overtake one another, the newest stays. If a crash prevents this write, `refreshLastMessage` makes up for
 * it.
 */
export async function recordDmPost({ db }: Platform, { _id, channelId }: MessageDoc): Promise<void> {
  await db.dms.updateOne({ _id: channelId }, { $max: { lastMessageId: _id, activeId: _id } });
}

/** The id of the newest message of a channel or DM, found through the index; null if there is none. */
export async function findNewestMessageId({ db }: Platform, channelId: string): Promise<string | null> {
  const notDeletedFilter = { channelId, deleted: { $exists: false } };
  return (await db.messages.findOne(notDeletedFilter, { projection: { _id: 1 }, sort: { _id: -1 } }))?._id ?? null;
}

/**
 * Sets `lastMessageId` of a DM to its newest message, or to null. Called after a delete, and to repair what a crash left. Each round writes
 * only if the value is still the one that it read, and the last round finds nothing to change, so the result is right under concurrent deletes and posts.
 */
export async function refreshLastMessage(platform: Platform, channelId: string): Promise<void> {
  const { db } = platform;
  for (;;) {
    const dm = await db.dms.findOne({ _id: channelId }, { projection: { lastMessageId: 1 } });
    const lastMessageId = await findNewestMessageId(platform, channelId);
    if (!dm || dm.lastMessageId === lastMessageId) return;
    const activity = lastMessageId === null ? {} : { $max: { activeId: lastMessageId } };
    await db.dms.updateOne({ _id: channelId, lastMessageId: dm.lastMessageId }, { $set: { lastMessageId }, ...activity });
  }
}
