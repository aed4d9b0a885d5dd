import { idTimeMs } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { EventData } from '../contract/events.ts';
import { trusted } from '../store/database.ts';
import type { ApiPlatform, WorkerPlatform } from '../store/platform.ts';
import { type Actor, homeOfChannel } from './access.ts';
import { appendInOrder, placedEvent, placesOfChannel, settleAllMarks } from './placed-events.ts';
import { inPlace } from './places.ts';

/** One call of the typing route: who, where, and an id whose time is when. */
export interface Typing {
  channelId: string;
  userId: string;
  typingId: string;
}

/**
 * Sends TYPING_START to a channel (docs/behavior/messages.md#typing). Needs Send Messages. Nothing is stored or guaranteed: while Redis is away nobody
 * receives it. `typingId` comes from the clock of message ids, so it shows which posts came later.
 */
export async function startTyping(platform: ApiPlatform, actor: Actor, channelId: string, typingId: string): Promise<void> {
  await inPlace(platform, actor, channelId, 'Send Messages');
  platform.nudge('announce-typing', { channelId, userId: actor.id, typingId });
}

/** Whether a call of the typing route no longer says anything: it is older than the indicator lasts, or the typed message has come. */
async function isOver(platform: WorkerPlatform, { channelId, userId, typingId }: Typing): Promise<boolean> {
  if (platform.now() - idTimeMs(typingId) > limits.typingMs) return true;
  return (await platform.db.messages.exists({ channelId, _id: trusted({ $gt: typingId }), authorId: userId })) !== null;
}

/**
 * Announces `TYPING_START` to who may view the channel, but not to the account itself. Its `at` is when the call was made: a message of that
 * account with a later id ends it, whichever arrives first. Running it again announces nothing twice.
 */
export async function announceTyping(platform: WorkerPlatform, typing: Typing): Promise<void> {
  const { channelId, userId, typingId } = typing;
  const home = await homeOfChannel(platform, channelId);
  if (home && !(await isOver(platform, typing))) {
    const { serverId } = home;
    const data: EventData<'TYPING_START'> = { channelId, serverId, userId, at: new Date(idTimeMs(typingId)).toISOString() };
    const places = await placesOfChannel(platform, { channelId, serverId });
    const due = places.map((place) => placedEvent(place, typingId, 'TYPING_START', data, { channelId, exceptAccount: userId }));
    await appendInOrder(platform, due);
    void settleAllMarks(platform, due);
  }
}
