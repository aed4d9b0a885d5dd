import { refuseField } from '../base/errors.ts';
import { idTimeMs } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { EventData } from '../contract/events.ts';
import type { ReadState } from '../contract/read.ts';
import type { CachedAnswer } from '../store/caches.ts';
import { trusted } from '../store/database.ts';
import { type MessageDoc, pingsIndex } from '../store/models/message.ts';
import type { EnqueuePlatform, Platform, WorkerPlatform } from '../store/platform.ts';
import type { Actor } from './access.ts';
import { newestIn } from './dm-activity.ts';
import { inPlace } from './places.ts';
import { type ReadPlace, readPlaces } from './read-places.ts';

/** How far an id may lie ahead of this process' clock: clocks of nodes differ, and a mark never goes back. */
const aheadMs = 60_000;

/**
 * Marks a channel, thread or DM as read up to a message (decisions 3). The mark never goes back; the message need not exist any more. Needs View Channel.
 * Refuses an id of the future (400), as such a mark could never be undone.
 */
export async function markRead(platform: EnqueuePlatform, actor: Actor, channelId: string, messageId: string): Promise<void> {
  await inPlace(platform, actor, channelId);
  if (idTimeMs(messageId) > platform.now() + aheadMs) refuseField('/messageId', 'is of the future');
  if (await raiseMark(platform, actor.id, channelId, messageId)) platform.nudge('announce-read', { channelId, userId: actor.id });
}

/** Moves a read mark forward, never back. Returns whether it moved. */
async function raiseMark({ db }: Platform, userId: string, channelId: string, messageId: string): Promise<boolean> {
  const mark = { $max: { messageId }, $setOnInsert: { userId, channelId } };
  const { modifiedCount, upsertedCount } = await db.reads.updateOne({ _id: `${userId}:${channelId}` }, mark, { upsert: true });
  return modifiedCount + upsertedCount > 0;
}

/** Marks of own posts that are being written in this process; past `mostOwnMarks` a post waits for its mark. */
let ownMarks = 0;
const mostOwnMarks = 32;

/**
 * Marks a channel as read up to a message that its reader posts. The post does not wait for it; the reader's open pages learn it from the message itself. A
 * failure is only logged: the next mark makes up for it.
 */
export function markOwnPost(platform: Platform, { authorId, channelId, _id }: MessageDoc): Promise<void> {
  ownMarks++;
  const writing = raiseMark(platform, authorId, channelId, _id)
    .then(() => undefined)
    .catch((error: unknown) => platform.log.warn({ err: error, channelId }, 'could not mark an own message as read'))
    .finally(() => ownMarks--);
  return ownMarks > mostOwnMarks ? writing : Promise.resolve();
}

/** Sends `READ_UPDATE` with the mark as it is now to the open pages of the person. Nothing is stored: a page that misses it reads all marks when it reconnects. */
export async function announceRead(platform: WorkerPlatform, { channelId, userId }: { channelId: string; userId: string }): Promise<void> {
  const mark = await platform.db.reads.findOne({ _id: `${userId}:${channelId}` }, { messageId: 1 }).lean();
  if (!mark) return;
  const eventId = platform.ids.next();
  const data: EventData<'READ_UPDATE'> = { channelId, messageId: mark.messageId };
  const topics = [`user:${userId}`];
  await platform.append({ eventId, name: 'READ_UPDATE', payload: JSON.stringify(data), bots: [], reach: 'all', topics });
  void platform.forget([eventId]);
}

/** How many channels are looked at together. */
const atOnce = 4;

/** How many messages of others after `after` mention the person, up to 99. Looks at the newest 1,000 that mention anybody. */
async function mentionsIn(platform: Platform, userId: string, { channelId, roleIds }: ReadPlace, after: string): Promise<number> {
  const found = await platform.db.messages
    .find({ channelId, _id: trusted({ $gt: after }), pings: true }, { authorId: 1, mentions: 1, mentionRoles: 1, mentionEveryone: 1 })
    .sort({ _id: -1 })
    .limit(limits.mentionsSearched)
    .hint(pingsIndex)
    .lean();
  const hits = found.filter(
    ({ authorId, mentions, mentionRoles, mentionEveryone }) =>
      authorId !== userId && (mentionEveryone || mentions.includes(userId) || mentionRoles.some((id) => roleIds.includes(id))),
  );
  return Math.min(hits.length, limits.mentionsCounted);
}

async function stateOf(platform: Platform, userId: string, place: ReadPlace): Promise<ReadState> {
  const { channelId, readMessageId, since, dm } = place;
  const lastMessageId = dm ? dm.lastMessageId : await newestIn(platform, channelId);
  const after = readMessageId ?? since;
  const unread = lastMessageId !== null && lastMessageId > after;
  return { channelId, readMessageId, lastMessageId, mentions: unread ? await mentionsIn(platform, userId, place, after) : 0 };
}

/** A read state under the message version of its channel, with what else it was made from. */
interface CachedState extends CachedAnswer {
  madeFrom: string;
  state: ReadState;
}

/** About what a cached read state takes, in bytes. */
const sizeBytes = 512;

/** The read state of a place, from the cache unless a message of the channel, the mark or the person's roles changed. */
async function cachedStateOf(platform: Platform, userId: string, place: ReadPlace, version: string | undefined): Promise<ReadState> {
  if (version === undefined) return stateOf(platform, userId, place);
  const { channelId, readMessageId, since, roleIds, dm } = place;
  const key = `read:${userId}:${channelId}`;
  const madeFrom = [version, readMessageId, since, dm?.lastMessageId, ...roleIds].join();
  const cached = platform.answers.get(key) as CachedState | undefined;
  if (cached?.madeFrom === madeFrom) return cached.state;
  const state = await stateOf(platform, userId, place);
  const fresh: CachedState = { madeFrom, state, sizeBytes: sizeBytes + madeFrom.length };
  if (platform.redisUp()) platform.answers.set(key, fresh);
  return state;
}

const byNewest = (a: ReadState, b: ReadState): number => {
  const [left, right] = [a.lastMessageId ?? '', b.lastMessageId ?? ''];
  return left === right ? 0 : left < right ? 1 : -1;
};

/**
 * How far the caller has read everywhere (decisions 3), newest message first: every text and announcement channel that they may view, their DMs, and the
 * threads that they have marked once, unless archived. A few queries, and two for each channel that changed since the last call and is not cached any more.
 */
export async function listReads(platform: Platform, actor: Actor): Promise<ReadState[]> {
  const places = await readPlaces(platform, actor.id);
  const versions = await platform.versions.read(places.map(({ channelId }) => channelId));
  const states: ReadState[] = [];
  for (let start = 0; start < places.length; start += atOnce)
    states.push(
      ...(await Promise.all(
        places.slice(start, start + atOnce).map((place, at) => cachedStateOf(platform, actor.id, place, versions?.[start + at])),
      )),
    );
  return states.sort(byNewest);
}
