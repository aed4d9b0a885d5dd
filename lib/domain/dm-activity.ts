import { trusted } from '../store/database.ts';
import type { MessageDoc } from '../store/models/message.ts';
import type { Platform } from '../store/platform.ts';

/** Notes on its DM that a message was posted. Posts that overtake one another leave the newest; a crash before it is made good by `settleDm`. */
export async function notePosted({ db }: Platform, { _id, channelId }: MessageDoc): Promise<void> {
  await db.dms.collection.updateOne({ _id: channelId as never }, { $max: { lastMessageId: _id, activeId: _id } });
}

/** The newest message of a channel or DM, found through the index; null when there is none. */
export async function newestIn({ db }: Platform, channelId: string): Promise<string | null> {
  const standing = { channelId, deleted: trusted({ $exists: false }) };
  return (await db.messages.findOne(standing, { _id: 1 }).sort({ _id: -1 }).lean())?._id ?? null;
}

/**
 * Makes `lastMessageId` of a DM the newest message that is there, or null: after a delete, and by the drain after whatever a crash left. Each round writes only
 * over what it had read, and the last one found nothing to change, so deletes and posts at the same moment end right.
 */
export async function settleDm(platform: Platform, channelId: string): Promise<void> {
  const { db } = platform;
  for (;;) {
    const dm = await db.dms.findOne({ _id: channelId }, { lastMessageId: 1 }).lean();
    const lastMessageId = await newestIn(platform, channelId);
    if (!dm || dm.lastMessageId === lastMessageId) return;
    const active = lastMessageId === null ? {} : { $max: { activeId: lastMessageId } };
    await db.dms.updateOne({ _id: channelId, lastMessageId: dm.lastMessageId }, { $set: { lastMessageId }, ...active });
  }
}
