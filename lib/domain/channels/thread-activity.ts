import { groupBy } from '../../base/group-by.ts';
import { toParts } from '../../base/parts.ts';
import { exists } from '../../store/mongo/database.ts';
import { pagesByTime } from '../../store/mongo/due.ts';
import type { MessageDraft } from '../../store/mongo/models/message.ts';
import { type ChannelDoc, dueThreadsIndex } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { serversPerChange } from '../../store/redis/server-changes.ts';
import { sweepRecounts } from '../counts/recounts.ts';
import { addEventInPipeline, addEventToEach } from '../events/pending.ts';

const minuteMs = 60_000;

/** When a thread that was last active at `at` is archived. */
export const computeArchiveAt = (at: Date, minutes: number): Date => new Date(at.getTime() + minutes * minuteMs);

/** An update pipeline stage that computes a thread's `archiveAt` from its other fields. An archived thread has none. */
export const archiveAtStage = {
  $set: {
    archiveAt: { $cond: ['$archived', '$$REMOVE', { $add: ['$lastActivityAt', { $multiply: ['$autoArchiveMinutes', minuteMs] }] }] },
  },
} as const;

/**
 * The channel as it is now. A thread is read from the database, because cached access data do not have what posts change in it. Null when it was deleted
 * meanwhile.
 */
export async function loadCurrentChannel(platform: Platform, channel: ChannelDoc): Promise<ChannelDoc | null> {
  if (channel.kind !== 'thread') return channel;
  return platform.db.channels.findOne({ _id: channel._id });
}

/**
 * Counts a message that is about to be stored, restarts its thread's clock and unarchives the thread (docs/behavior/messages.md#archiving). Only
 * this and a PATCH with `archived: false` unarchive a thread. If the message is then not stored, the recount corrects the number.
 */
export async function recordThreadPost(platform: EnqueuePlatform, { channelId, serverId }: MessageDraft): Promise<void> {
  const { channels } = platform.db;
  const now = new Date(platform.now());
  const fields = { lastActivityAt: now, messageCount: { $add: ['$messageCount', 1] }, recountAt: now };
  const update = (archived: boolean, set: object) =>
    channels.updateOne({ _id: channelId, kind: 'thread', archived }, [{ $set: { ...fields, ...set } }, archiveAtStage]);
  for (let archived = false; ; archived = !archived) {
    const { matchedCount } = archived
      ? await platform.serverChanges.run(serverId === null ? [] : [serverId], () =>
          update(true, { archived: false, ...addEventInPipeline(platform, { name: 'CHANNEL_UPDATE' }) }),
        )
      : await update(false, {});
    if (matchedCount === 1 && archived && serverId !== null) platform.wake('relay-server', { serverId });
    if (matchedCount === 1 || !(await exists(channels, { _id: channelId, kind: 'thread' }))) return;
  }
}

/** Takes a removed message off its thread's count. */
export async function decrementMessageCount(platform: Platform, threadId: string): Promise<void> {
  const messageCount = { $max: [0, { $subtract: ['$messageCount', 1] }] };
  await platform.db.channels.updateOne({ _id: threadId, kind: 'thread' }, [
    { $set: { messageCount, recountAt: new Date(platform.now()) } },
  ]);
}

/**
 * Requests a recount of the messages of threads once these are quiet. Called when events of created and deleted messages are acknowledged. So the number is right
 * in the end, even if a process died or was late between a message and its count.
 */
export async function requestRecounts({ db, now }: Platform, threadIds: readonly string[], options: object = {}): Promise<void> {
  if (threadIds.length === 0) return;
  await db.channels.updateMany({ _id: { $in: [...threadIds] }, kind: 'thread' }, { $set: { recountAt: new Date(now()) } }, options);
}

/** Recounts the messages of threads that were active and are quiet now. */
export const recountThreads = sweepRecounts(
  'channels',
  'messageCount',
  async ({ db }, channelId, maxTimeMS) => await db.messages.countDocuments({ channelId, deleted: { $exists: false } }, { maxTimeMS }),
);

/** What the archiving reads of a thread. */
type DueThread = { _id: string; serverId: string; archiveAt: Date };

/** How many threads one round archives. It takes far less time than one operation may. */
const archivedPerRound = 1_000;

/**
 * Archives every thread whose `archiveAt` has passed, and returns how many. The write checks the time again, so a thread with a post at the same moment stays
 * open, and concurrent sweeps archive each thread once.
 */
export async function archiveThreads(platform: EnqueuePlatform): Promise<number> {
  const { channels } = platform.db;
  const now = new Date(platform.now());
  const pages = pagesByTime(
    'archiveAt',
    archivedPerRound,
    (from, leftOut) =>
      channels
        .find(
          { archiveAt: { $gte: from ?? new Date(0), $lte: now }, _id: { $nin: leftOut } },
          { projection: { serverId: 1, archiveAt: 1 }, sort: { archiveAt: 1 }, limit: archivedPerRound, hint: dueThreadsIndex },
        )
        .toArray() as Promise<DueThread[]>,
  );
  let archivedCount = 0;
  for await (const found of pages) {
    const byServer = [...groupBy(found, (one) => one.serverId)];
    for (const some of toParts(byServer, serversPerChange)) {
      const serverIds = some.map(([serverId]) => serverId);
      const filter = { _id: { $in: some.flatMap(([, threads]) => threads.map(({ _id }) => _id)) }, archiveAt: { $lte: now } };
      const { modifiedCount } = await platform.serverChanges.run(serverIds, () => {
        const pendingEvent = addEventToEach(platform, { name: 'CHANNEL_UPDATE' });
        return channels.updateMany(filter, [{ $set: { archived: true, archiveAt: '$$REMOVE', ...pendingEvent } }]);
      });
      archivedCount += modifiedCount;
      for (const serverId of serverIds) platform.wake('relay-server', { serverId });
    }
  }
  return archivedCount;
}
