import { channelKinds } from '../../base/channel-kinds.ts';
import { failpoint } from '../../base/failpoint.ts';
import { isBlank } from '../../base/text.ts';
import { insertMissing } from '../../store/mongo/insert.ts';
import type { FollowDoc } from '../../store/mongo/models/follow.ts';
import { crosspostsIndex, type MessageDoc, type MessageDraft } from '../../store/mongo/models/message.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { loadCurrentServerAccess } from '../access/checks.ts';
import { copyFiles, decideCopies } from '../files/file-copies.ts';
import { afterAllFollowers, clearTombstones } from '../messages/crosspost-tombstones.ts';
import { toMessageDoc } from '../messages/draft.ts';
import { toInserted } from '../messages/new-messages.ts';
import { relayKeys } from '../relay/relay.ts';

/** How many followers one job serves, before another server has its turn. A crash repeats at most these copies, and one insert has at most this many. */
const chunkFollowers = 50;
/** A chunk older than this is abandoned: it was paused, and another worker may have taken over (docs/guarantees.md#retries). In milliseconds. */
const chunkMaxMs = 5_000;
/** The progress mark before the first follower: no channel has this id. */
const beforeAllFollowers = '0000000000000000000';

type CopyAuthor = NonNullable<MessageDoc['face']>;

/** A pending crosspost: the message to copy, and the author that its copies show. */
interface Crosspost {
  source: MessageDoc;
  author: CopyAuthor;
}

/** The pending crosspost of a server whose message is the oldest; null if no copies are pending. */
const findOldestPending = ({ db }: WorkerPlatform, serverId: string): Promise<MessageDoc | null> =>
  db.messages.findOne({ serverId, crosspostAt: { $exists: true } }, { sort: { _id: 1 }, hint: crosspostsIndex });

/** Returns the author that copies of this message show; null if its channel is deleted or no longer an announcement channel, so that no more copies are made. */
async function loadCopyAuthor(platform: WorkerPlatform, serverId: string, { channelId }: MessageDoc): Promise<CopyAuthor | null> {
  const access = await loadCurrentServerAccess(platform, serverId);
  const channel = await access?.channel(channelId);
  if (!access || !channel || !channelKinds[channel.kind].canBeFollowed) return null;
  const { name, iconUrl } = access.server;
  return { username: name, displayName: `${name} #${channel.name}`, avatarUrl: iconUrl };
}

/** The target channels of `follows` that get a copy now. Follows of deleted channels are deleted. A channel that is not a text channel now is skipped. */
async function findTargets(platform: WorkerPlatform, follows: readonly FollowDoc[]): Promise<ChannelDoc[]> {
  const targetIds = follows.map(({ targetId }) => targetId);
  const channels: ChannelDoc[] = await platform.db.channels.find({ _id: { $in: targetIds } }).toArray();
  const existingIds = new Set(channels.map(({ _id }) => _id));
  const deletedFollowIds = follows.filter(({ targetId }) => !existingIds.has(targetId)).map(({ _id }) => _id);
  if (deletedFollowIds.length) await platform.db.follows.deleteMany({ _id: { $in: deletedFollowIds } });
  return channels.filter(({ kind }) => channelKinds[kind].canFollow);
}

/** A copy of `source` for one follower, with its pending event. It mentions nobody and is no reply (docs/behavior/community.md#copies). */
function createCopy(platform: WorkerPlatform, { source, author: face }: Crosspost, target: ChannelDoc): MessageDraft {
  return {
    channelId: target._id,
    serverId: target.serverId,
    authorId: source.channelId,
    face,
    content: source.content,
    embeds: source.embeds,
    ...(source.previews ? { previews: source.previews } : {}),
    attachments: [],
    copyOf: source._id,
    mentions: [],
    mentionRoles: [],
    mentionEveryone: false,
    replyTo: null,
    interaction: null,
    editedAt: null,
    ...platform.tracing.current(),
  };
}

/** Whether a copy shows anything. It may be empty, because the files of a message that is being deleted are deleted before the message. */
const hasContent = ({ content, embeds, attachments }: MessageDraft): boolean =>
  !isBlank(content) || embeds.length > 0 || attachments.length > 0;

/** Makes the copies that are missing among `targets`. Existing copies stay as they are, and so do the tombstones of deleted copies. */
async function storeCopies(platform: WorkerPlatform, crosspost: Crosspost, targets: readonly ChannelDoc[], startMs: number): Promise<void> {
  const { messages } = platform.db;
  const { source } = crosspost;
  const channelIds = targets.map(({ _id }) => _id);
  const existingCopies = await messages
    .find({ copyOf: source._id, channelId: { $in: channelIds } }, { projection: { channelId: 1 } })
    .toArray();
  const copiedChannelIds = new Set(existingCopies.map(({ channelId }) => channelId));
  // Files get a temporary message id until the copy has its own.
  const owners = targets
    .filter(({ _id }) => !copiedChannelIds.has(_id))
    .map((target) => ({ messageId: platform.ids.next(), channelId: target._id, target }));
  const files = await copyFiles(platform, source, owners);
  const copies = owners
    .map(({ messageId, target }) => ({
      owner: messageId,
      draft: { ...createCopy(platform, crosspost, target), attachments: files.get(messageId) ?? [] },
    }))
    .filter(({ draft }) => hasContent(draft));
  if (performance.now() - startMs > chunkMaxMs) throw new Error('copying to followers was paused for too long; the job is retried');
  const reserved = await platform.messageOrder.reserve(copies.map(({ draft }) => draft.channelId));
  let released: Promise<boolean>;
  try {
    const docs = copies.map(({ draft }, at) => toInserted(toMessageDoc(draft, reserved.ids[at] as string), reserved.areInFlight));
    const moves = docs.flatMap(({ _id: messageId, attachments }) =>
      attachments.map(({ id, key }) => ({ updateOne: { filter: { _id: id, key }, update: { $set: { messageId } } } })),
    );
    if (moves.length) await platform.db.files.bulkWrite(moves);
    const isStored = await insertMissing(messages, docs, reserved.deadlineMs);
    released = platform.messageOrder.release(reserved, { isStored, isQuiet: true });
  } catch (error) {
    platform.messageOrder.releaseFailed(reserved, error);
    throw error;
  }
  if (files.size > 0) await decideCopies(platform, [...owners.map(({ messageId }) => messageId), ...reserved.ids]);
  await released;
}

/**
 * Relays the copies here, two channels at a time: hundreds of wakes at once would delay all other posts. If a relay fails, the owner of the channel is woken; if
 * the process dies, the sweep of new messages relays them.
 */
async function relayCopies(platform: WorkerPlatform, targets: readonly ChannelDoc[]): Promise<void> {
  const channelIds = targets.map(({ _id }) => _id);
  const failures = await relayKeys(platform, 'channel', channelIds, { concurrency: 2 });
  for (const channelId of failures.keys()) platform.wake('relay-channel', { channelId });
}

/**
 * Ends a crosspost: moves the progress mark past all followers, deletes the tombstones that are then not needed, and removes both marks, so that no job or
 * sweep takes the message up again.
 */
async function finishCrosspost(platform: WorkerPlatform, { _id, channelId }: MessageDoc): Promise<void> {
  const { messages } = platform.db;
  await messages.updateOne({ _id, channelId, crosspostAt: { $exists: true } }, { $set: { crosspostTo: afterAllFollowers } });
  await clearTombstones(platform, _id, afterAllFollowers);
  await messages.updateOne({ _id, channelId }, { $unset: { crosspostAt: 1, crosspostTo: 1 } });
}

/**
 * Makes the next copies of a server's oldest crossposted message, for at most 50 followers in the order of their ids after its progress mark. Then enqueues the
 * job of the server again, behind those of the other servers (docs/behavior/community.md#copies). As a server has one job at a time, the copies of a message are
 * complete before those of a newer message of the server begin. A repeated run, also a concurrent one or one after a crash, leaves one copy in each channel:
 * until the mark has passed the channel, the unique index on (message, channel) refuses a second copy, even if the first was deleted. A deleted message is no
 * longer pending. If the channel is no longer an announcement channel, the crosspost ends; existing copies stay.
 */
export async function copyToNextFollowers(platform: WorkerPlatform, serverId: string): Promise<void> {
  const startMs = performance.now();
  const source = await findOldestPending(platform, serverId);
  if (!source) return;
  const author = await loadCopyAuthor(platform, serverId, source);
  if (author) await copyChunk(platform, { source, author }, startMs);
  else await finishCrosspost(platform, source);
  await platform.jobs.enqueue('crosspost-server', { serverId });
}

/** Makes and relays the copies for the next followers of a crosspost. Ends the crosspost if there are no more. */
async function copyChunk(platform: WorkerPlatform, crosspost: Crosspost, startMs: number): Promise<void> {
  const { source } = crosspost;
  const follows = await platform.db.follows
    .find({ sourceId: source.channelId, targetId: { $gt: source.crosspostTo ?? beforeAllFollowers } })
    .sort({ targetId: 1 })
    .limit(chunkFollowers)
    .toArray();
  const targets = await findTargets(platform, follows);
  await storeCopies(platform, crosspost, targets, startMs);
  failpoint(platform.config, 'after-copies-write');
  const last = follows.at(-1);
  if (last && follows.length === chunkFollowers) await moveProgressMark(platform, source, last.targetId);
  else await finishCrosspost(platform, source);
  await relayCopies(platform, targets);
}

/** Moves the progress mark forward to `targetId`, never back, and deletes the tombstones that it has passed. */
async function moveProgressMark(platform: WorkerPlatform, { _id, channelId }: MessageDoc, targetId: string): Promise<void> {
  await platform.db.messages.updateOne(
    { _id, channelId, crosspostAt: { $exists: true } },
    { $max: { crosspostTo: targetId }, $set: { crosspostAt: new Date(platform.now()) } },
  );
  await clearTombstones(platform, _id, targetId);
  failpoint(platform.config, 'after-crosspost-mark');
}
