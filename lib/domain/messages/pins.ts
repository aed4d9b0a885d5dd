import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Message } from '../../contract/message.ts';
import { isDuplicateKey, isWriteConflict } from '../../store/mongo/database.ts';
import { pickFreeSlot } from '../../store/mongo/insert.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import { writeAudit } from '../access/audit.ts';
import { type Actor, requirePermissions } from '../access/checks.ts';
import { type ChannelContext, requireMessageChannel } from '../channels/context.ts';
import { addEvent, outboxHasRoom, requireOutboxRoom } from '../events/pending.ts';
import { toMessages } from '../views/messages.ts';
import { requireMessage } from './messages.ts';

const toPinnedFilter = (channelId: string) => ({ channelId, pinSlot: { $gte: 0 } });
const toPinFilter = (message: MessageDoc, isPinned: boolean) => ({
  _id: message._id,
  channelId: message.channelId,
  deleted: { $exists: false },
  pinSlot: { $exists: isPinned },
  ...outboxHasRoom,
});

/** A channel in which the caller may pin: with Manage Messages in a server, or as a participant of the DM (docs/behavior/messages.md#pins). */
async function requirePinContext(platform: Platform, actor: Actor, channelId: string): Promise<ChannelContext> {
  const context = await requireMessageChannel(platform, actor, channelId);
  if (context.serverId !== null) requirePermissions(context.permissions, 'Manage Messages');
  return context;
}

/** The update that puts PINS_UPDATE into the message's outbox. */
const createPinsEvent = (platform: Platform) => addEvent(platform, { name: 'PINS_UPDATE' });

/** After a change: wakes the relay and writes an entry to the server's audit log. */
async function announceAndAudit(
  platform: ApiPlatform,
  actor: Actor,
  { serverId }: ChannelContext,
  action: 'message_pin' | 'message_unpin',
  { _id, channelId }: MessageDoc,
) {
  platform.wake('relay-channel', { channelId });
  if (serverId !== null) await writeAudit(platform, actor, { serverId, action, targetId: _id });
}

/**
 * Pins a message in a free slot of the channel. The unique index on the slots enforces the cap of 50. Returns false when another request took that slot or
 * changed the message meanwhile. Refuses `too_many_pins` when no slot is free. `pinnedAt` is later than that of every other pin, so that pins sort in the order
 * in which their requests were answered.
 */
async function pinInFreeSlot(platform: Platform, message: MessageDoc): Promise<boolean> {
  const { messages } = platform.db;
  const pins = await messages
    .find(toPinnedFilter(message.channelId), { projection: { pinSlot: 1, pinnedAt: 1 } })
    .sort({ pinSlot: 1 })
    .toArray();
  const slot = pickFreeSlot(
    pins.map((one) => one.pinSlot as number),
    limits.pinsPerChannel,
  );
  if (slot === null) return refuse('too_many_pins', { limit: limits.pinsPerChannel });
  const pinnedAtMs = Math.max(...pins.map((one) => (one.pinnedAt?.getTime() ?? 0) + 1), platform.now());
  try {
    const pinned = { ...createPinsEvent(platform), $set: { pinSlot: slot, pinnedAt: new Date(pinnedAtMs) } };
    return (await messages.updateOne(toPinFilter(message, false), pinned)).modifiedCount === 1;
  } catch (error) {
    if (!isDuplicateKey(error) && !isWriteConflict(error)) throw error;
    return false;
  }
}

/** Pins a message (docs/behavior/messages.md#pins). One that is pinned already stays as it is. Refuses `too_many_pins` for the 51st pin of a channel. */
export async function pinMessage(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string): Promise<void> {
  const context = await requirePinContext(platform, actor, channelId);
  for (;;) {
    const message = await requireMessage(platform, channelId, messageId);
    if (message.pinnedAt) return;
    requireOutboxRoom(message.outbox);
    if (await pinInFreeSlot(platform, message)) return announceAndAudit(platform, actor, context, 'message_pin', message);
  }
}

/** Unpins a message and frees its slot at once. One that is not pinned stays as it is. */
export async function unpinMessage(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string): Promise<void> {
  const context = await requirePinContext(platform, actor, channelId);
  for (;;) {
    const message = await requireMessage(platform, channelId, messageId);
    if (!message.pinnedAt) return;
    requireOutboxRoom(message.outbox);
    const unpinned = { ...createPinsEvent(platform), $unset: { pinSlot: 1, pinnedAt: 1 } } as const;
    const { modifiedCount } = await platform.db.messages.updateOne(toPinFilter(message, true), unpinned);
    if (modifiedCount === 1) return announceAndAudit(platform, actor, context, 'message_unpin', message);
  }
}

/** A channel's pinned messages, newest pin first. Needs View Channel. */
export async function listPins(platform: ApiPlatform, actor: Actor, channelId: string): Promise<Message[]> {
  await requireMessageChannel(platform, actor, channelId);
  const pins = await platform.db.messages
    .find(toPinnedFilter(channelId))
    .sort({ pinnedAt: -1, pinSlot: 1 })
    .limit(limits.pinsPerChannel)
    .toArray();
  return toMessages(platform, pins, actor.account);
}
