import type { ApiPlatform } from '../../store/platform.ts';
import { type Actor } from '../access/checks.ts';
import { requireMessageChannel } from './context.ts';

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
