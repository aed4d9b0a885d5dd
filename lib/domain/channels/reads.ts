import { refuseField } from '../../base/errors.ts';
import { forEachLimit } from '../../base/for-each-limit.ts';
import { idTimeMs } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { toParts } from '../../base/parts.ts';
import type { ReadState } from '../../contract/read.ts';
import { type MessageDoc, pingsIndex } from '../../store/mongo/models/message.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { requireMessageChannel } from './context.ts';
import { findNewestMessageId } from './dm-activity.ts';
import { loadReadable, loadReadPositions, type Readable, type ReadPosition } from './read-positions.ts';

/** How far an id may be ahead of this process's clock, in milliseconds. Clocks of nodes differ, and a mark never goes back. */
const maxAheadMs = 60_000;

/**
 * Marks a channel, thread or DM as read up to a message (docs/behavior/messages.md#read-marks). The mark never goes back. The message may be deleted. Needs
 * View Channel. Refuses an id that is more than 60 s in the future (400), because such a mark could never be undone.
 */
export async function markRead(platform: EnqueuePlatform, actor: Actor, channelId: string, messageId: string): Promise<void> {
  await requireMessageChannel(platform, actor, channelId);
  const nowMs = Math.max(platform.now(), platform.ids.lastMs()); // when the clock was set back, ids continue from the last one
  if (idTimeMs(messageId) > nowMs + maxAheadMs) refuseField('/messageId', 'This message id is in the future.');
  if (await advanceReadMark(platform, actor.id, channelId, messageId)) platform.wake('announce-read', { channelId, userId: actor.id });
}

/** Moves a read mark forward, never back. Returns whether it moved. */
async function advanceReadMark({ db }: Platform, userId: string, channelId: string, messageId: string): Promise<boolean> {
  const mark = { $max: { messageId }, $setOnInsert: { channelId } };
  const { modifiedCount, upsertedCount } = await db.reads.updateOne({ _id: `${userId}:${channelId}`, userId }, mark, { upsert: true });
  return modifiedCount + upsertedCount > 0;
}

/** Writes of read marks for own posts that are under way in this process. While there are more than `maxPendingOwnMarks`, a post waits for its mark. */
const pendingOwnMarks = new Set<Promise<void>>();
const maxPendingOwnMarks = 32;

/**
 * Marks a channel as read up to a message that its reader has just posted. The post does not wait for the write, unless too many are under way. The reader's
 * other sessions learn of it from the message itself. A failure is only logged, because the next mark replaces this one.
 */
export function markOwnPost(platform: Platform, { authorId, channelId, _id }: MessageDoc): Promise<void> {
  const writing: Promise<void> = advanceReadMark(platform, authorId, channelId, _id)
    .then(() => undefined)
    .catch((error: unknown) => platform.log.warn({ err: error, channelId }, 'could not mark a message as read for its author'))
    .finally(() => pendingOwnMarks.delete(writing));
  pendingOwnMarks.add(writing);
  return pendingOwnMarks.size > maxPendingOwnMarks ? writing : Promise.resolve();
}

/** Waits until the marks of own posts are written, for example before the process ends. */
export const waitForOwnMarks = (): Promise<unknown> => Promise.all(pendingOwnMarks);

/** How many channels are looked up in the database at once. */
const channelsAtOnce = 4;

/**
 * The id of the newest message of each of `positions`, in order; null where there is none. Queries the database only for channels whose newest message Redis
 * does not know.
 */
async function loadNewestMessageIds(platform: EnqueuePlatform, positions: readonly ReadPosition[]): Promise<(string | null)[]> {
  const cachedIds = await platform.messageOrder.newestMessages.read(positions.map(({ channelId }) => channelId));
  const newestIds = positions.map(({ dm }, at) => (dm ? dm.lastMessageId : cachedIds[at]));
  const unknown = [...newestIds.keys()].filter((at) => newestIds[at] === undefined);
  await forEachLimit(unknown, channelsAtOnce, async (at) => {
    const { channelId } = positions[at] as ReadPosition;
    const newestId = await findNewestMessageId(platform, channelId);
    newestIds[at] = newestId;
    await platform.messageOrder.newestMessages.record(channelId, newestId);
  });
  return newestIds.map((id) => id ?? null);
}

/** A channel with unread messages: those with ids above `after`. */
interface UnreadPosition {
  position: ReadPosition;
  after: string;
}

/** How many channels one query searches for mentions. The database can read an index in the order of ids for about as many. */
const channelsPerQuery = 200;

/**
 * The unread messages of others that mention the person, by channel, newest first, in each the newest 99. For each 200 channels it reads the newest 1,000
 * unread messages that mention anybody.
 */
async function findMentions(platform: Platform, userId: string, unread: readonly UnreadPosition[]): Promise<Map<string, string[]>> {
  const mentions = new Map<string, string[]>();
  for (const part of toParts(unread, channelsPerQuery)) {
    const unreadByChannel = new Map(part.map((one) => [one.position.channelId, one]));
    const oldest = [...unreadByChannel.values()].map(({ after }) => after).reduce((one, other) => (other < one ? other : one));
    const found = await platform.db.messages
      .find(
        { channelId: { $in: [...unreadByChannel.keys()] }, _id: { $gt: oldest }, pings: true },
        { projection: { channelId: 1, authorId: 1, mentions: 1, mentionRoles: 1, mentionEveryone: 1 } },
      )
      .sort({ _id: -1 })
      .limit(limits.mentionsSearched)
      .hint(pingsIndex)
      .toArray();
    for (const { _id, channelId, authorId, mentions: userIds, mentionRoles, mentionEveryone } of found) {
      const { position, after } = unreadByChannel.get(channelId) as UnreadPosition;
      const isMentioned = mentionEveryone || userIds.includes(userId) || mentionRoles.some((id) => position.roleIds.includes(id));
      const known = mentions.get(channelId) ?? [];
      if (_id > after && authorId !== userId && isMentioned && known.length < limits.mentionCountMax)
        mentions.set(channelId, [...known, _id]);
    }
  }
  return mentions;
}

const unreadAfter = ({ readMessageId, since }: ReadPosition): string => readMessageId ?? since;

const byNewest = (a: ReadState, b: ReadState): number => {
  const [left, right] = [a.lastMessageId ?? '', b.lastMessageId ?? ''];
  return left === right ? 0 : left < right ? 1 : -1;
};

/** How far the caller has read in all channels (docs/behavior/messages.md#read-marks), as `loadReadStates` returns it. */
export const listReads = async (platform: EnqueuePlatform, actor: Actor): Promise<ReadState[]> =>
  loadReadStates(platform, actor, await loadReadable(platform, actor.id));

/**
 * How far the caller has read in `readable`, newest message first: in its text and announcement channels, its DMs, and the threads that the caller has marked
 * once, unless archived. At most 8 queries however many channels there are, and one for each channel whose newest message Redis does not know.
 */
export async function loadReadStates(platform: EnqueuePlatform, actor: Actor, readable: Readable): Promise<ReadState[]> {
  const positions = await loadReadPositions(platform, actor.id, readable);
  const newest = await loadNewestMessageIds(platform, positions);
  const unread = positions.flatMap((position, at) => {
    const after = unreadAfter(position);
    const last = newest[at] ?? null;
    return last !== null && last > after ? [{ position, after }] : [];
  });
  const mentions = await findMentions(platform, actor.id, unread);
  return positions
    .map((position, at) => {
      const mentionMessageIds = (mentions.get(position.channelId) ?? []).reverse();
      return {
        channelId: position.channelId,
        readMessageId: position.readMessageId,
        unreadAfterId: unreadAfter(position),
        lastMessageId: newest[at] ?? null,
        mentions: mentionMessageIds.length,
        mentionMessageIds,
      };
    })
    .sort(byNewest);
}
