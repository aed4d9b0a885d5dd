import { trusted } from '../store/database.ts';
import type { MessageDraft } from '../store/models/message.ts';
import { type ChannelDoc, dueThreadsIndex } from '../store/models/server.ts';
import type { EnqueuePlatform, Platform } from '../store/platform.ts';
import { alsoOwes, eachOwes } from './owed-events.ts';
import { recountMarked } from './recounts.ts';

const minuteMs = 60_000;

/** When a thread hides that was last active at `at`. */
export const archiveAtOf = (at: Date, minutes: number): Date => new Date(at.getTime() + minutes * minuteMs);

/** The stage of an update pipeline that sets a thread's clock by what it holds then; an archived thread has none. */
export const clockStage = {
  $set: {
    archiveAt: { $cond: ['$archived', '$$REMOVE', { $add: ['$lastActivityAt', { $multiply: ['$autoArchiveMinutes', minuteMs] }] }] },
  },
} as const;

/** The channel as it stands now: what posts change in a thread is not in the cached access data. null when it went meanwhile. */
export async function channelNow(platform: Platform, channel: ChannelDoc): Promise<ChannelDoc | null> {
  if (channel.kind !== 'thread') return channel;
  return platform.db.channels.findOne({ _id: channel._id }).lean();
}

/**
 * Counts a message that is about to be stored, restarts its thread's clock and unarchives the thread, in one write (docs/behavior/messages.md#archiving).
 * Only this and `archived: false` of a PATCH unarchive a thread. If the message is then not stored, the recount corrects the number.
 */
export async function wakeThread(platform: EnqueuePlatform, { channelId, serverId }: MessageDraft): Promise<void> {
  const now = new Date(platform.now());
  const { ob, obAt } = alsoOwes(platform, { name: 'CHANNEL_UPDATE' });
  const woken = {
    ob: { $cond: ['$archived', ob, { $ifNull: ['$ob', '$$REMOVE'] }] },
    obAt: { $cond: ['$archived', obAt, { $ifNull: ['$obAt', '$$REMOVE'] }] },
    archived: false,
    lastActivityAt: now,
    messageCount: { $add: ['$messageCount', 1] },
    recountAt: now,
  };
  const before = await platform.db.channels.collection.findOneAndUpdate(
    { _id: channelId as never, kind: 'thread' },
    [{ $set: woken }, clockStage],
    { projection: { archived: 1 } },
  );
  if (before?.archived && serverId !== null) platform.nudge('relay-server', { serverId });
}

/** Counts a message that went out of its thread. */
export async function uncountMessage(platform: Platform, threadId: string): Promise<void> {
  const messageCount = { $max: [0, { $subtract: ['$messageCount', 1] }] };
  await platform.db.channels.collection.updateOne({ _id: threadId as never, kind: 'thread' }, [
    { $set: { messageCount, recountAt: new Date(platform.now()) } },
  ]);
}

/**
 * Has a thread's messages counted again once it is quiet. The drain asks for it when it takes the events of messages that came or went: whatever died or was
 * late between a message and its count, the number is right in the end.
 */
export async function askRecount(platform: Platform, threadId: string, options: object = {}): Promise<void> {
  await platform.db.channels.collection.updateOne(
    { _id: threadId as never, kind: 'thread' },
    { $set: { recountAt: new Date(platform.now()) } },
    options,
  );
}

/** Counts the messages of threads that were active and are quiet now. */
export const recountThreads = (platform: Platform): Promise<void> =>
  recountMarked(
    platform,
    platform.db.channels,
    'messageCount',
    async (channelId, maxTimeMS) =>
      await platform.db.messages.countDocuments({ channelId, deleted: trusted({ $exists: false }) }, { maxTimeMS }),
  );

/** How many threads one write archives: far below the time that one operation may take. */
const archivedAtOnce = 1_000;

/**
 * Archives every thread whose time has come; answers how many. The write looks at the time again, so a thread that was posted in at the same moment stays,
 * and two sweeps at once archive each thread once.
 */
export async function archiveThreads(platform: EnqueuePlatform): Promise<number> {
  const { collection } = platform.db.channels;
  let from = new Date(0);
  for (let archived = 0; ; ) {
    const now = new Date(platform.now());
    const due = { archiveAt: { $lte: now } };
    // From where the last round ended: what it took out of the index lies there, dead, until the database cleans up.
    const found = await collection
      .find({ archiveAt: { $gte: from, $lte: now } }, { projection: { serverId: 1, archiveAt: 1 } })
      .sort({ archiveAt: 1 })
      .limit(archivedAtOnce)
      .hint(dueThreadsIndex)
      .toArray();
    if (found.length > 0) {
      const owed = eachOwes(platform, { name: 'CHANNEL_UPDATE' });
      const these = { _id: { $in: found.map(({ _id }) => _id) }, ...due };
      const { modifiedCount } = await collection.updateMany(these, [{ $set: { archived: true, archiveAt: '$$REMOVE', ...owed } }]);
      archived += modifiedCount;
      for (const serverId of new Set(found.map((one) => String(one.serverId)))) platform.nudge('relay-server', { serverId });
    }
    if (found.length < archivedAtOnce) return archived;
    from = found.at(-1)?.archiveAt as Date;
  }
}
