import { channelKinds } from '../../base/channel-kinds.ts';
import { refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Channel, ThreadInput } from '../../contract/channel.ts';
import { exists } from '../../store/mongo/database.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { countCreation, perMinute } from '../access/creation-rates.ts';
import { newOutbox } from '../events/pending.ts';
import { toChannel } from '../views/servers.ts';
import { newChannel } from './channels.ts';
import { type ChannelContext, requireMessageChannel } from './context.ts';
import { computeArchiveAt } from './thread-activity.ts';

/** The channel, if it can have threads. 400 for threads and DMs, and for kinds other than text and announcement. */
function requireThreadParent({ channel }: ChannelContext): ChannelDoc {
  const canHaveThreads = channel && channelKinds[channel.kind].hasThreadsAndWebhooks;
  return canHaveThreads ? channel : refuse('invalid_request', { reason: 'threads can only be created in text and announcement channels' });
}

/**
 * Creates a thread, optionally from one of the channel's messages (docs/behavior/messages.md#threads). Needs Send Messages. Refuses 400 for a message of
 * another channel and for a channel that cannot have threads, `thread_exists` for a second thread of a message, `rate_limited` for too many. One write stores
 * its document and the pending event.
 */
export async function createThread(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  input: ThreadInput,
  newId: string,
): Promise<Channel> {
  const parent = requireThreadParent(await requireMessageChannel(platform, actor, channelId, 'Send Messages'));
  const { channels, messages } = platform.db;
  const findOwn = () => channels.findOne({ _id: newId, parentId: channelId });
  const existing = await findOwn();
  if (existing) return toChannel(existing);
  const messageId = input.messageId ?? null;
  const starter = messageId && (await exists(messages, { _id: messageId, channelId, deleted: { $exists: false } }));
  if (messageId && !starter) refuseField('/messageId', 'This message is not in this channel.');
  const { serverId } = parent;
  await countCreation(platform, [
    perMinute(`threads:${actor.id}:${channelId}`, limits.threadsPerMinute),
    perMinute(`threads:${serverId}`, limits.threadsPerServerPerMinute),
  ]);
  const now = new Date(platform.now());
  const autoArchiveMinutes = input.autoArchiveMinutes ?? parent.autoArchiveMinutes ?? limits.threadAutoArchiveMinutesDefault;
  const thread: ChannelDoc = {
    ...newChannel({ _id: newId, serverId, kind: 'thread', name: input.name.trim(), position: -1, createdAt: now }),
    parentId: channelId,
    autoArchiveMinutes,
    threadOwnerId: actor.id,
    ...(messageId === null ? {} : { threadStarterId: messageId }),
    messageCount: 0,
    lastActivityAt: now,
    archiveAt: computeArchiveAt(now, autoArchiveMinutes),
  };
  const isCreated = await platform.serverChanges.run([serverId], () =>
    insertNew(channels, { ...thread, ...newOutbox(platform, { name: 'CHANNEL_CREATE' as const }) }),
  );
  if (!isCreated) return toChannel((await findOwn()) ?? refuse('thread_exists'));
  if (!(await exists(channels, { _id: channelId }))) {
    // The channel was deleted at the same moment.
    await channels.deleteOne({ _id: newId });
    refuse('not_found', { what: 'channel' });
  }
  platform.wake('relay-server', { serverId });
  return toChannel(thread);
}

/** The threads of a channel, newest activity first, including archived ones, at most 1,000. Needs View Channel. */
export async function listThreads(platform: Platform, actor: Actor, channelId: string): Promise<Channel[]> {
  requireThreadParent(await requireMessageChannel(platform, actor, channelId));
  const found = await platform.db.channels
    .find({ parentId: channelId, lastActivityAt: { $exists: true } })
    .sort({ lastActivityAt: -1, _id: -1 })
    .limit(limits.threadsListed)
    .toArray();
  return found.map(toChannel);
}
