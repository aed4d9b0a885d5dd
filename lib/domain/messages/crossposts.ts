import { channelKinds } from '../../base/channel-kinds.ts';
import { refuse } from '../../base/errors.ts';
import { hasPermission } from '../../base/permissions.ts';
import type { Message } from '../../contract/message.ts';
import { dueUntil } from '../../store/mongo/due.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ApiPlatform, EnqueuePlatform, WorkerPlatform } from '../../store/platform.ts';
import { requireMessageChannel } from '../channels/channel-context.ts';
import { addEvent } from '../events/pending-events.ts';
import { type Actor, requirePermissions } from '../members/access.ts';
import { writeAudit } from '../servers/audit.ts';
import { toMessage } from './message-view.ts';
import { requireMessage } from './messages.ts';

/** The progress mark before the first follower: no channel has this id. */
export const beforeAllFollowers = '0000000000000000000';

/** Wakes the job that makes the next copies of a message, from its progress mark on. */
const wakeCopyJob = (
  platform: EnqueuePlatform,
  { _id: messageId, channelId, crosspostTo }: Pick<MessageDoc, '_id' | 'channelId' | 'crosspostTo'>,
): void => platform.wake('crosspost-message', { messageId, channelId, afterId: crosspostTo ?? beforeAllFollowers });

/**
 * Copies a message of an announcement channel to every following channel, once (docs/behavior/community.md#crossposts). The caller's own message needs Send
 * Messages or Manage Messages, others need Manage Messages. One conditional write stores the flag, the mark of the pending copies and the event; a worker makes
 * the copies. `editedAt` stays. Refuses with `already_crossposted`, and with 400 outside announcement channels and for a copy.
 */
export async function crosspostMessage(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string): Promise<Message> {
  const { channel, permissions } = await requireMessageChannel(platform, actor, channelId);
  const message = await requireMessage(platform, channelId, messageId);
  if (!channel || !channelKinds[channel.kind].canBeFollowed)
    refuse('invalid_request', { reason: 'only messages of announcement channels can be crossposted' });
  const isOwn = message.authorId === actor.id;
  if (!hasPermission(permissions, 'Manage Messages')) requirePermissions(permissions, isOwn ? 'Send Messages' : 'Manage Messages');
  if (message.copyOf !== undefined) refuse('invalid_request', { reason: 'a copy cannot be crossposted' });
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
  wakeCopyJob(platform, updated);
  if (!isOwn) await writeAudit(platform, actor, { serverId: channel.serverId, action: 'message_crosspost', targetId: messageId });
  return toMessage(platform, updated, actor.account);
}

/** How long a crosspost may make no progress before the sweep wakes its job, in milliseconds; and how many crossposts one sweep takes. */
const sweepAfterMs = 10_000;
const sweepMax = 100;

/** Enqueues lost crossposts: pending ones without progress for 10 s (docs/guarantees.md#sweeps). They continue from their progress mark. */
export async function sweepCrossposts(platform: WorkerPlatform): Promise<void> {
  const before = new Date(platform.now() - sweepAfterMs);
  const overdue = await platform.db.messages
    .find({ crosspostAt: dueUntil(before) }, { projection: { channelId: 1, crosspostTo: 1 } })
    .sort({ crosspostAt: 1 })
    .limit(sweepMax)
    .toArray();
  for (const source of overdue) wakeCopyJob(platform, source);
}
