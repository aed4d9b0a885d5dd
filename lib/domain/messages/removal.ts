import { failpoint } from '../../base/failpoint.ts';
import type { FilesPlatform, Platform } from '../../store/platform.ts';
import { refreshLastMessage } from '../channels/dm-activity.ts';
import { requestRecounts } from '../channels/thread-activity.ts';
import { markFilesUndecided } from '../files/files.ts';
import { afterAllFollowers, clearTombstones } from './crosspost-tombstones.ts';
import { tombstoneUpdate } from './messages.ts';

/** How many messages one operation deletes, so that it stays far below the time limit of an operation. */
const batchMessages = 2_000;

/**
 * Deletes every message of a deleted channel. Calls `beforeBatch` before each batch. Deletes first the tombstones that were kept for the pending copies of a
 * message, because no job finds them without it.
 */
export async function deleteMessages(platform: Platform, channelId: string, beforeBatch: () => Promise<unknown>): Promise<void> {
  const { messages } = platform.db;
  for (;;) {
    await beforeBatch();
    const found = await messages
      .find({ channelId }, { projection: { crosspostAt: 1 } })
      .sort({ _id: 1 })
      .limit(batchMessages)
      .toArray();
    for (const { _id, crosspostAt } of found) if (crosspostAt) await clearTombstones(platform, _id, afterAllFollowers);
    if (found.length > 0) await messages.deleteMany({ channelId, _id: { $lte: found[found.length - 1]?._id as string } });
    if (found.length < batchMessages) return;
  }
}

/** What `deleteExpiredMessages` reads of a message. */
const expiredFields = { attachments: 1, reactionCount: 1, serverId: 1, thread: 1 } as const;

/**
 * Deletes up to `limit` messages of a channel that are older than the id `before`, with their files, reactions and pins. It sends no events
 * (docs/behavior/messages.md#retention). A message with pending events or copies is left for a later call. One with reactions becomes a tombstone, which
 * `sweepReactions` deletes after them. If the process dies, the next call continues. Returns how many messages it read and how many it deleted.
 */
export async function deleteExpiredMessages(
  platform: FilesPlatform,
  channelId: string,
  before: string,
  limit: number,
): Promise<{ read: number; deleted: number }> {
  const { messages } = platform.db;
  const announcedTo = await platform.logState.readAnnounced();
  const until = announcedTo < before ? announcedTo : before; // the events of later ones may be pending
  const found = await messages
    .find({ channelId, _id: { $lt: until } }, { projection: expiredFields })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();
  const [first] = found;
  if (!first) return { read: 0, deleted: 0 };
  const withFiles = found.filter(({ attachments }) => attachments.length > 0);
  await markFilesUndecided(
    platform,
    withFiles.flatMap(({ attachments }) => attachments),
  );
  failpoint(platform.config, 'during-retention');
  const settled = { deleted: { $exists: false }, outboxAt: { $exists: false }, crosspostAt: { $exists: false } } as const;
  const idsWhere = (hasReactions: boolean): string[] =>
    found.filter((one) => (one.reactionCount !== undefined) === hasReactions).map(({ _id }) => _id);
  const [reacted, plain] = [idsWhere(true), idsWhere(false)];
  let deleted = 0;
  if (reacted.length > 0)
    deleted += (await messages.updateMany({ channelId, _id: { $in: reacted }, ...settled }, tombstoneUpdate)).modifiedCount;
  if (plain.length > 0) {
    const filter = { channelId, _id: { $in: plain }, ...settled, reactionCount: { $exists: false } };
    deleted += (await messages.deleteMany(filter)).deletedCount;
  }
  for (const { _id } of withFiles) platform.jobs.tryEnqueue('settle-files', { messageId: _id });
  if (first.serverId === null) await refreshLastMessage(platform, channelId);
  if (first.thread) await requestRecounts(platform, [channelId]);
  await platform.messageOrder.newestMessages.forget(channelId);
  return { read: found.length, deleted };
}
