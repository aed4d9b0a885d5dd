import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Message } from '../../contract/message.ts';
import { isDuplicate, isLostRace, trusted } from '../../store/mongo/database.ts';
import { freeSlot } from '../../store/mongo/insert.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import { inPlace, type Place } from '../channels/channel-context.ts';
import { owes, requireRoom, withRoom } from '../events/pending-events.ts';
import { type Actor, require } from '../members/access.ts';
import { writeAudit } from '../servers/audit.ts';
import { presentMessages } from './message-view.ts';
import { messageIn } from './messages.ts';

const held = (channelId: string) => ({ channelId, pinSlot: trusted({ $gte: 0 }) });
const pinOf = (message: MessageDoc, stands: boolean) => ({
  _id: message._id,
  deleted: trusted({ $exists: false }),
  pinSlot: trusted({ $exists: stands }),
  ...withRoom,
});

/** A channel in which the caller may pin: with Manage Messages in a server, or as a participant of the DM (docs/behavior/messages.md#pins). */
async function inPinnable(platform: Platform, actor: Actor, channelId: string): Promise<Place> {
  const place = await inPlace(platform, actor, channelId);
  if (place.serverId !== null) require(place.permissions, 'Manage Messages');
  return place;
}

/** The update that puts PINS_UPDATE into the message's outbox. */
const owed = (platform: Platform) => owes(platform, { name: 'PINS_UPDATE' });

/** After a change: wakes the relay and writes an entry to the server's audit log. */
async function tell(
  platform: ApiPlatform,
  actor: Actor,
  { serverId }: Place,
  action: 'message_pin' | 'message_unpin',
  { _id, channelId }: MessageDoc,
) {
  platform.nudge('relay-channel', { channelId });
  if (serverId !== null) await writeAudit(platform, actor, { serverId, action, targetId: _id });
}

/**
 * Pins a message in a free slot of the channel. The unique index on the slots enforces the cap of 50. Returns false when another request took that slot or
 * changed the message meanwhile. Refuses `too_many_pins` when no slot is free. `pinnedAt` is later than that of every other pin, so that pins sort in the order
 * in which their requests were answered.
 */
async function takeSlot(platform: Platform, message: MessageDoc): Promise<boolean> {
  const { messages } = platform.db;
  const pins = await messages.find(held(message.channelId), { pinSlot: 1, pinnedAt: 1 }).sort({ pinSlot: 1 }).lean();
  const slot = freeSlot(
    pins.map((one) => one.pinSlot as number),
    limits.pinsPerChannel,
  );
  if (slot === null) return refuse('too_many_pins', { limit: limits.pinsPerChannel });
  const after = Math.max(...pins.map((one) => (one.pinnedAt?.getTime() ?? 0) + 1), platform.now());
  try {
    const pinned = { ...owed(platform), $set: { pinSlot: slot, pinnedAt: new Date(after) } };
    return (await messages.updateOne(pinOf(message, false), pinned)).modifiedCount === 1;
  } catch (error) {
    if (!isDuplicate(error) && !isLostRace(error)) throw error;
    return false;
  }
}

/** Pins a message (docs/behavior/messages.md#pins). One that is pinned already stays as it is. Refuses `too_many_pins` for the 51st pin of a channel. */
export async function pinMessage(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string): Promise<void> {
  const place = await inPinnable(platform, actor, channelId);
  for (;;) {
    const message = await messageIn(platform, channelId, messageId);
    if (message.pinnedAt) return;
    requireRoom(message.ob?.length ?? 0);
    if (await takeSlot(platform, message)) return tell(platform, actor, place, 'message_pin', message);
  }
}

/** Unpins a message and frees its slot at once. One that is not pinned stays as it is. */
export async function unpinMessage(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string): Promise<void> {
  const place = await inPinnable(platform, actor, channelId);
  const message = await messageIn(platform, channelId, messageId);
  if (message.pinnedAt) requireRoom(message.ob?.length ?? 0);
  const { modifiedCount } = await platform.db.messages.updateOne(pinOf(message, true), {
    ...owed(platform),
    $unset: { pinSlot: 1, pinnedAt: 1 },
  });
  if (modifiedCount === 1) await tell(platform, actor, place, 'message_unpin', message);
}

/** A channel's pinned messages, newest pin first. Needs View Channel. */
export async function listPins(platform: ApiPlatform, actor: Actor, channelId: string): Promise<Message[]> {
  await inPlace(platform, actor, channelId);
  const pins = await platform.db.messages.find(held(channelId)).sort({ pinnedAt: -1, pinSlot: 1 }).limit(limits.pinsPerChannel).lean();
  return presentMessages(platform, pins, actor.account);
}
