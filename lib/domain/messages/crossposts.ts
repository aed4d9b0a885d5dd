import { channelKinds } from '../../base/channel-kinds.ts';
import { refuse } from '../../base/errors.ts';
import { hasPermission } from '../../base/permissions.ts';
import type { Message } from '../../contract/message.ts';
import { crosspostsIndex, type MessageDoc, toMessageKey } from '../../store/mongo/models/message.ts';
import type { ApiPlatform, WorkerPlatform } from '../../store/platform.ts';
import { writeAudit } from '../access/audit.ts';
import { type Actor, requirePermissions } from '../access/checks.ts';
import { countCopies } from '../access/creation-rates.ts';
import { requireMessageChannel } from '../channels/context.ts';
import { addEvent } from '../events/pending.ts';
import { toMessage } from '../views/messages.ts';
import { afterAllFollowers, clearTombstones } from './crosspost-tombstones.ts';
import { requireMessage } from './messages.ts';

/**
 * Copies a message of an announcement channel to every following channel, once (docs/behavior/community.md#crossposts). The caller's own message needs Send
 * Messages or Manage Messages, others need Manage Messages. One conditional write stores the flag, the mark of the pending copies and the event; a worker makes
 * the copies. `editedAt` stays. Refuses with `already_crossposted`, with 400 outside announcement channels and for a copy, and `rate_limited` when the server
 * or the caller has requested too many copies.
 */
export async function crosspostMessage(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string): Promise<Message> {
  const { channel, permissions } = await requireMessageChannel(platform, actor, channelId);
  const message = await requireMessage(platform, channelId, messageId);
  if (!channel || !channelKinds[channel.kind].canBeFollowed)
    refuse('invalid_request', { reason: 'only messages of announcement channels can be crossposted' });
  const isOwn = message.authorId === actor.id;
  if (!hasPermission(permissions, 'Manage Messages')) requirePermissions(permissions, isOwn ? 'Send Messages' : 'Manage Messages');
  if (message.copyOf !== undefined) refuse('invalid_request', { reason: 'a copy cannot be crossposted' });
  if (message.crossposted) refuse('already_crossposted');
  await countCopies(platform, [channel.serverId, actor.id], await platform.db.follows.countDocuments({ sourceId: channelId }));
  const now = new Date(platform.now());
  const pendingEvent = addEvent(platform, { name: 'MESSAGE_UPDATE' });
  const updated = await platform.db.messages.findOneAndUpdate(
    { _id: messageId, channelId, deleted: { $exists: false }, crossposted: { $exists: false } },
    { ...pendingEvent, $set: { crossposted: true, crosspostAt: now } },
    { returnDocument: 'after' },
  );
  if (!updated) {
    await requireMessage(platform, channelId, messageId); // deleted meanwhile: 404
    return refuse('already_crossposted');
  }
  platform.wake('relay-channel', { channelId });
  platform.jobs.tryEnqueue('crosspost-server', { serverId: channel.serverId });
  if (!isOwn) await writeAudit(platform, actor, { serverId: channel.serverId, action: 'message_crosspost', targetId: messageId });
  return toMessage(platform, updated, actor.account);
}

/** Enqueues the job of the server for a crosspost whose own job an earlier version has enqueued. */
export async function resumeCrosspost(platform: WorkerPlatform, messageId: string, channelId?: string): Promise<void> {
  const filter = { ...toMessageKey(messageId, channelId), crosspostAt: { $exists: true }, deleted: { $exists: false } };
  const source = await platform.db.messages.findOne(filter, { projection: { serverId: 1 } });
  if (source?.serverId) await platform.jobs.enqueue('crosspost-server', { serverId: source.serverId });
  else await clearTombstones(platform, messageId, afterAllFollowers);
}

/** How long a server's oldest pending crosspost may make no progress before the sweep wakes the job, in milliseconds; and how many servers one sweep looks at. */
const sweepAfterMs = 10_000;
const sweepMaxServers = 1_000;

/**
 * Enqueues lost crossposts: the jobs of servers whose oldest pending one made no progress for 10 s (docs/guarantees.md#sweeps). They continue from their progress
 * marks. Reads one message of each server, so that the many messages of one leave out no other.
 */
export async function sweepCrossposts(platform: WorkerPlatform): Promise<void> {
  const before = platform.now() - sweepAfterMs;
  let afterServerId = '';
  for (let servers = 0; servers < sweepMaxServers; servers++) {
    const oldest: Pick<MessageDoc, 'serverId' | 'crosspostAt'> | null = await platform.db.messages.findOne(
      { serverId: { $gt: afterServerId }, crosspostAt: { $exists: true } },
      { projection: { serverId: 1, crosspostAt: 1 }, sort: { serverId: 1, _id: 1 }, hint: crosspostsIndex },
    );
    if (!oldest?.serverId) return;
    afterServerId = oldest.serverId;
    if (Number(oldest.crosspostAt) <= before) platform.jobs.tryEnqueue('crosspost-server', { serverId: afterServerId });
  }
}
