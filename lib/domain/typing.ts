import { idTimeMs } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { EventData } from '../contract/events.ts';
import { trusted } from '../store/database.ts';
import type { ApiPlatform, WorkerPlatform } from '../store/platform.ts';
import { type Actor, homeOfChannel } from './access.ts';
import { appendInOrder, forgetAll, placed, placesOfChannel } from './audience.ts';
import { inPlace } from './places.ts';

/** One call of the typing route: who, where, and an id whose time is when. */
export interface Typing {
  channelId: string;
  userId: string;
  typingId: string;
}

/**
 * Tells a channel that the caller is typing (spec, Messages). Needs Send Messages. Nothing is stored and nothing is promised: while Redis is away nobody
 * hears of it. `typingId` comes from the clock that message ids come from, so it is known which posts came later.
 */
export async function startTyping(platform: ApiPlatform, actor: Actor, channelId: string, typingId: string): Promise<void> {
  await inPlace(platform, actor, channelId, 'Send Messages');
  platform.nudge('announce-typing', { channelId, userId: actor.id, typingId });
}

/** Whether a call of the typing route no longer says anything: it is older than the indicator lasts, or the typed message has come (edge case 26). */
async function isOver(platform: WorkerPlatform, { channelId, userId, typingId }: Typing): Promise<boolean> {
  if (platform.now() - idTimeMs(typingId) > limits.typingMs) return true;
  return (await platform.db.messages.exists({ channelId, _id: trusted({ $gt: typingId }), authorId: userId })) !== null;
}

/**
 * Announces `TYPING_START` to who may view the channel, but not to the account itself (edge case 26). Its `at` is when the call was made: a message of that
 * account with a later id ends it, whichever is heard first. Running it again announces nothing twice.
 */
export async function announceTyping(platform: WorkerPlatform, typing: Typing): Promise<void> {
  const { channelId, userId, typingId } = typing;
  const home = await homeOfChannel(platform, channelId);
  if (home && !(await isOver(platform, typing))) {
    const { serverId } = home;
    const told: EventData<'TYPING_START'> = { channelId, serverId, userId, at: new Date(idTimeMs(typingId)).toISOString() };
    const event = { id: typingId, name: 'TYPING_START', payload: JSON.stringify(told), channelId, exceptAccount: userId } as const;
    const due = placed(await placesOfChannel(platform, { channelId, serverId }), [event]);
    await appendInOrder(platform, due);
    void forgetAll(platform, due);
  }
}
