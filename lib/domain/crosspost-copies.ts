import { failpoint } from '../base/failpoint.ts';
import { isBlank } from '../base/text.ts';
import { trusted } from '../store/database.ts';
import { insertMissing } from '../store/insert.ts';
import type { FollowDoc } from '../store/models/follow.ts';
import type { MessageDoc, MessageDraft } from '../store/models/message.ts';
import type { ChannelDoc } from '../store/models/server.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { loadServerNow } from './access.ts';
import { clearGraves } from './crosspost-graves.ts';
import { copyFiles, settleCopies } from './file-copies.ts';
import { messageOf } from './message-draft.ts';
import { relay } from './relay.ts';

/** How many followers one job serves: what a crash repeats, and what one insert holds. */
const chunk = 50;
/** A chunk older than this was paused, and another worker has taken over (docs/guarantees.md#retries). In milliseconds. */
const chunkLifeMs = 5_000;
/** What stands after the last follower: no channel has this id. */
const afterAllFollowers = '9999999999999999999';

type Face = NonNullable<MessageDoc['face']>;

/** A crosspost under way: the message that owes copies, and the author line that they carry. */
interface Crosspost {
  source: MessageDoc;
  face: Face;
}

/** The message, when it still owes copies and its channel still is an announcement channel; `over` when it owes some that shall not be made. */
async function crosspostOf(platform: WorkerPlatform, messageId: string): Promise<Crosspost | 'over' | null> {
  const filter = { _id: messageId, crosspostAt: trusted({ $exists: true }), deleted: trusted({ $exists: false }) };
  const source: MessageDoc | null = await platform.db.messages.findOne(filter).lean();
  if (!source || source.serverId === null) return null;
  const access = await loadServerNow(platform, source.serverId);
  const channel = await access?.channel(source.channelId);
  if (!access || channel?.kind !== 'announcement') return 'over';
  const { name, iconUrl } = access.server;
  return { source, face: { username: name, displayName: `${name} #${channel.name}`, avatarUrl: iconUrl } };
}

/** The channels among `follows` that take a copy now. Rows of channels that are gone are deleted; a channel that is no text channel now is passed over. */
async function takersOf(platform: WorkerPlatform, follows: readonly FollowDoc[]): Promise<ChannelDoc[]> {
  const targetIds = follows.map(({ targetId }) => targetId);
  const channels: ChannelDoc[] = await platform.db.channels.find({ _id: trusted({ $in: targetIds }) }).lean();
  const standing = new Set(channels.map(({ _id }) => _id));
  const gone = follows.filter(({ targetId }) => !standing.has(targetId)).map(({ _id }) => _id);
  if (gone.length) await platform.db.follows.deleteMany({ _id: trusted({ $in: gone }) });
  return channels.filter(({ kind }) => kind === 'text');
}

/** A copy of `source` for one follower, with its pending event. It mentions nobody and is no reply (docs/behavior/community.md#copies). */
function copyFor(platform: WorkerPlatform, { source, face }: Crosspost, target: ChannelDoc): MessageDraft {
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
    ob: [{ id: platform.ids.next(), name: 'MESSAGE_CREATE' }],
    obAt: new Date(platform.now()),
  };
}

/** Whether anything of a copy can be seen: the files of a message that is being deleted are gone before it is. */
const shows = ({ content, embeds, attachments }: MessageDraft): boolean => !isBlank(content) || embeds.length > 0 || attachments.length > 0;

/** The copies that are missing among `targets`, made; those that stand are left as they are, also a deleted one's tombstone. */
async function makeCopies(platform: WorkerPlatform, crosspost: Crosspost, targets: readonly ChannelDoc[], began: number): Promise<void> {
  const { messages } = platform.db;
  const { source } = crosspost;
  const channelIds = targets.map(({ _id }) => _id);
  const made = await messages.find({ copyOf: source._id, channelId: trusted({ $in: channelIds }) }, { channelId: 1 }).lean();
  const have = new Set(made.map(({ channelId }) => channelId));
  // Files belong to an id of their own until the copy has its one.
  const owners = targets
    .filter(({ _id }) => !have.has(_id))
    .map((target) => ({ messageId: platform.ids.next(), channelId: target._id, target }));
  const files = await copyFiles(platform, source, owners);
  const copies = owners
    .map(({ messageId, target }) => ({
      owner: messageId,
      draft: { ...copyFor(platform, crosspost, target), attachments: files.get(messageId) ?? [] },
    }))
    .filter(({ draft }) => shows(draft));
  if (performance.now() - began > chunkLifeMs) throw new Error('a chunk of copies was paused; it is run again');
  const { result: ids, released } = await platform.messageOrder.write(
    copies.map(({ draft }) => draft.channelId),
    async (newIds, within) => {
      const docs = copies.map(({ draft }, at) => messageOf(draft, newIds[at] as string));
      const moves = docs.flatMap(({ _id: messageId, attachments }) =>
        attachments.map(({ id }) => ({ updateOne: { filter: { _id: id as never }, update: { $set: { messageId } } } })),
      );
      if (moves.length) await platform.db.files.collection.bulkWrite(moves);
      return { result: newIds, isStored: await insertMissing(messages, docs, within()) };
    },
  );
  if (files.size > 0) await settleCopies(platform, [...owners.map(({ messageId }) => messageId), ...ids]);
  await released;
}

/**
 * Delivers the copies one channel after another, here and not through the queue: 500 drains waiting there at once would hold up everybody's posts. What
 * fails is left to the queue, and to the sweep.
 */
async function deliverCopies(platform: WorkerPlatform, targets: readonly ChannelDoc[]): Promise<void> {
  for (const { _id: channelId } of targets)
    await relay(platform, 'channel', channelId).catch(() => platform.nudge('relay-channel', { channelId }));
}

/** Ends a crosspost: what is passed by the mark needs no tombstones, and what has no mark is not looked at again. */
async function finish(platform: WorkerPlatform, messageId: string): Promise<void> {
  const { messages } = platform.db;
  await messages.updateOne({ _id: messageId, crosspostAt: trusted({ $exists: true }) }, { $set: { crosspostTo: afterAllFollowers } });
  await clearGraves(platform, messageId, afterAllFollowers);
  await messages.updateOne({ _id: messageId }, { $unset: { crosspostAt: 1, crosspostTo: 1 } });
}

/**
 * Makes the next copies of a crossposted message, for at most 50 followers in the order of their ids after both `afterId` and the progress mark, then
 * enqueues the job for the followers after them (docs/behavior/community.md#copies). A repeat, also at the same time or after a crash, leaves one copy in each
 * channel: until the mark has passed the channel, the unique index on (message, channel) refuses a second copy, also where the first was deleted. A message
 * that is gone is skipped. If the channel is no announcement channel any more, the crosspost ends; existing copies stay.
 */
export async function copyToFollowers(platform: WorkerPlatform, messageId: string, afterId: string): Promise<void> {
  const began = performance.now();
  const crosspost = await crosspostOf(platform, messageId);
  if (crosspost === null) return clearGraves(platform, messageId, afterAllFollowers);
  if (crosspost === 'over') return finish(platform, messageId);
  const { channelId: sourceId, crosspostTo = '' } = crosspost.source;
  const from = crosspostTo > afterId ? crosspostTo : afterId;
  const follows = await platform.db.follows
    .find({ sourceId, targetId: trusted({ $gt: from }) })
    .sort({ targetId: 1 })
    .limit(chunk)
    .lean();
  const targets = await takersOf(platform, follows);
  await makeCopies(platform, crosspost, targets, began);
  failpoint(platform.config, 'after-copies-write');
  const last = follows.at(-1);
  const more = follows.length === chunk && last !== undefined;
  if (more) await passTo(platform, messageId, last.targetId);
  else await finish(platform, messageId);
  await deliverCopies(platform, targets);
  if (more) await platform.enqueue('crosspost-message', { messageId, afterId: last.targetId });
}

/** Moves the progress mark on to `targetId`; it never goes back. */
async function passTo(platform: WorkerPlatform, messageId: string, targetId: string): Promise<void> {
  await platform.db.messages.updateOne(
    { _id: messageId, crosspostAt: trusted({ $exists: true }) },
    { $max: { crosspostTo: targetId }, $set: { crosspostAt: new Date(platform.now()) } },
  );
  await clearGraves(platform, messageId, targetId);
  failpoint(platform.config, 'after-crosspost-mark');
}
