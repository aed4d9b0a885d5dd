import { idTimeMs } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { EventData } from '../../contract/events.ts';
import { exists } from '../../store/mongo/database.ts';
import type { ApiPlatform, WorkerPlatform } from '../../store/platform.ts';
import { createPlacedEvent, findPlacesOfChannel } from '../events/placed-events.ts';
import { appendEvents } from '../events/relay.ts';
import { type Actor, locateChannel } from '../members/access.ts';
import { requireMessageChannel } from './channel-context.ts';

/** One call of the typing route. The time in `typingId` is the time of the call. */
export interface Typing {
  channelId: string;
  userId: string;
  typingId: string;
}

/**
 * Sends TYPING_START to a channel (docs/behavior/messages.md#typing). Needs Send Messages. Nothing is stored or guaranteed: while Redis is unavailable nobody
 * receives it. `typingId` comes from the clock of message ids, so messages with higher ids were posted later.
 */
export async function startTyping(platform: ApiPlatform, actor: Actor, channelId: string, typingId: string): Promise<void> {
  await requireMessageChannel(platform, actor, channelId, 'Send Messages');
  platform.wake('announce-typing', { channelId, userId: actor.id, typingId });
}

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
    void platform.expireMarks(events);
  }
}
