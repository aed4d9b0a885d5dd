import { forEachAtOnce } from '../../base/at-once.ts';
import { refuseField } from '../../base/errors.ts';
import { idTimeMs } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { EventData } from '../../contract/events.ts';
import type { ReadState } from '../../contract/read.ts';
import { trusted } from '../../store/mongo/database.ts';
import { type MessageDoc, pingsIndex } from '../../store/mongo/models/message.ts';
import type { EnqueuePlatform, Platform, WorkerPlatform } from '../../store/platform.ts';
import { accountPlace } from '../../store/redis/log/keys.ts';
import { appendInOrder, placedEvent } from '../events/placed-events.ts';
import type { Actor } from '../members/access.ts';
import { inPlace } from './channel-context.ts';
import { newestIn } from './dm-activity.ts';
import { allReadable, type Readable, type ReadPlace, readPlaces } from './read-positions.ts';

/** How far an id may be ahead of this process's clock, in milliseconds. Clocks of nodes differ, and a mark never goes back. */
const aheadMs = 60_000;

/**
 * Marks a channel, thread or DM as read up to a message (docs/behavior/messages.md#read-marks). The mark never goes back. The message may be deleted. Needs
 * View Channel. Refuses an id that is more than 60 s in the future (400), because such a mark could never be undone.
 */
export async function markRead(platform: EnqueuePlatform, actor: Actor, channelId: string, messageId: string): Promise<void> {
  await inPlace(platform, actor, channelId);
  const nowMs = Math.max(platform.now(), platform.ids.lastMs()); // when the clock was set back, ids continue from the last one
  if (idTimeMs(messageId) > nowMs + aheadMs) refuseField('/messageId', 'is of the future');
  if (await raiseMark(platform, actor.id, channelId, messageId)) platform.nudge('announce-read', { channelId, userId: actor.id });
}

/** Moves a read mark forward, never back. Returns whether it moved. */
async function raiseMark({ db }: Platform, userId: string, channelId: string, messageId: string): Promise<boolean> {
  const mark = { $max: { messageId }, $setOnInsert: { userId, channelId } };
  const { modifiedCount, upsertedCount } = await db.reads.updateOne({ _id: `${userId}:${channelId}` }, mark, { upsert: true });
  return modifiedCount + upsertedCount > 0;
}

/** Writes of read marks for own posts that are under way in this process. While there are more than `mostOwnMarks`, a post waits for its mark. */
const ownMarks = new Set<Promise<void>>();
const mostOwnMarks = 32;

/**
 * Marks a channel as read up to a message that its reader has just posted. The post does not wait for the write, unless too many are under way. The reader's
 * other sessions learn of it from the message itself. A failure is only logged, because the next mark replaces this one.
 */
export function markOwnPost(platform: Platform, { authorId, channelId, _id }: MessageDoc): Promise<void> {
  const writing: Promise<void> = raiseMark(platform, authorId, channelId, _id)
    .then(() => undefined)
    .catch((error: unknown) => platform.log.warn({ err: error, channelId }, 'could not mark an own message as read'))
    .finally(() => ownMarks.delete(writing));
  ownMarks.add(writing);
  return ownMarks.size > mostOwnMarks ? writing : Promise.resolve();
}

/** Waits until the marks of own posts are written, for example before the process ends. */
export const ownMarksWritten = (): Promise<unknown> => Promise.all(ownMarks);

/** Sends `READ_UPDATE` with the current mark to the person's sessions. */
export async function announceRead(platform: WorkerPlatform, { channelId, userId }: { channelId: string; userId: string }): Promise<void> {
  const mark = await platform.db.reads.findOne({ _id: `${userId}:${channelId}` }, { messageId: 1 }).lean();
  if (!mark) return;
  // The event id is made from the mark, so that each mark is sent once however often this runs.
  const eventId = `read-${channelId}-${mark.messageId}`;
  const data: EventData<'READ_UPDATE'> = { channelId, messageId: mark.messageId };
  await appendInOrder(platform, [placedEvent(accountPlace(userId), eventId, 'READ_UPDATE', data)]);
  void platform.keepMarks(accountPlace(userId), [eventId]);
}

/** How many channels are looked up in the database at once. */
const channelsAtOnce = 4;

/**
 * The id of the newest message of each of `places`, in order; null where there is none. Queries the database only for channels whose newest message Redis does
 * not know.
 */
async function newestOf(platform: EnqueuePlatform, places: readonly ReadPlace[]): Promise<(string | null)[]> {
  const known = await platform.messageOrder.newest.read(places.map(({ channelId }) => channelId));
  const newest = places.map(({ dm }, at) => (dm ? dm.lastMessageId : known[at]));
  const unknown = [...newest.keys()].filter((at) => newest[at] === undefined);
  await forEachAtOnce(unknown, channelsAtOnce, async (at) => {
    const { channelId } = places[at] as ReadPlace;
    const found = await newestIn(platform, channelId);
    newest[at] = found;
    await platform.messageOrder.newest.note(channelId, found);
  });
  return newest.map((id) => id ?? null);
}

/** A channel with unread messages: those with ids above `after`. */
interface UnreadPlace {
  place: ReadPlace;
  after: string;
}

/** How many channels one query searches for mentions. The database can read an index in the order of ids for about as many. */
const channelsPerQuery = 200;

/**
 * How many unread messages of others mention the person, by channel, each up to 99. For each 200 channels it reads the newest 1,000 unread messages that
 * mention anybody.
 */
async function countMentions(platform: Platform, userId: string, unread: readonly UnreadPlace[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let start = 0; start < unread.length; start += channelsPerQuery) {
    const part = new Map(unread.slice(start, start + channelsPerQuery).map((one) => [one.place.channelId, one]));
    const oldest = [...part.values()].map(({ after }) => after).reduce((one, other) => (other < one ? other : one));
    const found = await platform.db.messages
      .find(
        { channelId: trusted({ $in: [...part.keys()] }), _id: trusted({ $gt: oldest }), pings: true },
        { channelId: 1, authorId: 1, mentions: 1, mentionRoles: 1, mentionEveryone: 1 },
      )
      .sort({ _id: -1 })
      .limit(limits.mentionsSearched)
      .hint(pingsIndex)
      .lean();
    for (const { _id, channelId, authorId, mentions, mentionRoles, mentionEveryone } of found) {
      const { place, after } = part.get(channelId) as UnreadPlace;
      const isMentioned = mentionEveryone || mentions.includes(userId) || mentionRoles.some((id) => place.roleIds.includes(id));
      if (_id > after && authorId !== userId && isMentioned)
        counts.set(channelId, Math.min((counts.get(channelId) ?? 0) + 1, limits.mentionsCounted));
    }
  }
  return counts;
}

const byNewest = (a: ReadState, b: ReadState): number => {
  const [left, right] = [a.lastMessageId ?? '', b.lastMessageId ?? ''];
  return left === right ? 0 : left < right ? 1 : -1;
};

/** How far the caller has read in all channels (docs/behavior/messages.md#read-marks), as `readsIn` returns it. */
export const listReads = async (platform: EnqueuePlatform, actor: Actor): Promise<ReadState[]> =>
  readsIn(platform, actor, await allReadable(platform, actor.id));

/**
 * How far the caller has read in `readable`, newest message first: in its text and announcement channels, its DMs, and the threads that the caller has marked
 * once, unless archived. At most 8 queries however many channels there are, and one for each channel whose newest message Redis does not know.
 */
export async function readsIn(platform: EnqueuePlatform, actor: Actor, readable: Readable): Promise<ReadState[]> {
  const places = await readPlaces(platform, actor.id, readable);
  const newest = await newestOf(platform, places);
  const unread = places.flatMap((place, at) => {
    const after = place.readMessageId ?? place.since;
    const last = newest[at] ?? null;
    return last !== null && last > after ? [{ place, after }] : [];
  });
  const mentions = await countMentions(platform, actor.id, unread);
  return places
    .map(({ channelId, readMessageId }, at) => ({
      channelId,
      readMessageId,
      lastMessageId: newest[at] ?? null,
      mentions: mentions.get(channelId) ?? 0,
    }))
    .sort(byNewest);
}
