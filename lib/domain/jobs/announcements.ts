import { idTimeMs } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { EventData } from '../../contract/events.ts';
import { exists } from '../../store/mongo/database.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { accountPlace } from '../../store/redis/log/keys.ts';
import { locateChannel } from '../access/checks.ts';
import type { Typing } from '../channels/typing.ts';
import { createPlacedEvent, findPlacesOfChannel } from '../events/placed.ts';
import { appendEvents } from '../relay/relay.ts';

/** Whether a call of the typing route is outdated: it is older than the indicator lasts, or the account has posted in the channel since. */
async function isOutdated(platform: WorkerPlatform, { channelId, userId, typingId }: Typing): Promise<boolean> {
  if (platform.now() - idTimeMs(typingId) > limits.typingMs) return true;
  return exists(platform.db.messages, { channelId, _id: { $gt: typingId }, authorId: userId });
}

/**
 * Sends `TYPING_START` to those who may view the channel, except the account itself. `at` is the time of the call: a message of that account with a later id
 * ends the indicator, whichever arrives first. A repeated run sends nothing twice.
 */
export async function announceTyping(platform: WorkerPlatform, typing: Typing): Promise<void> {
  const { channelId, userId, typingId } = typing;
  const location = await locateChannel(platform, channelId);
  if (location && !(await isOutdated(platform, typing))) {
    const { serverId } = location;
    const data: EventData<'TYPING_START'> = { channelId, serverId, userId, at: new Date(idTimeMs(typingId)).toISOString() };
    const { places, viewedAs } = await findPlacesOfChannel(platform, { channelId, serverId });
    const visibility = { channelId: viewedAs, exceptAccount: userId };
    const events = places.map((place) => createPlacedEvent(place, typingId, 'TYPING_START', data, visibility));
    await appendEvents(platform, events);
    void platform.eventLog.expireMarks(events);
  }
}

/** Sends `READ_UPDATE` with the current mark to the person's sessions. */
export async function announceRead(platform: WorkerPlatform, { channelId, userId }: { channelId: string; userId: string }): Promise<void> {
  const mark = await platform.db.reads.findOne({ _id: `${userId}:${channelId}`, userId }, { projection: { messageId: 1 } });
  if (!mark) return;
  // The event id is made from the mark, so that each mark is sent once however often this runs.
  const eventId = `read-${channelId}-${mark.messageId}`;
  const data: EventData<'READ_UPDATE'> = { channelId, messageId: mark.messageId };
  const event = createPlacedEvent(accountPlace(userId), eventId, 'READ_UPDATE', data);
  await appendEvents(platform, [event]);
  void platform.eventLog.expireMarks([event]);
}
