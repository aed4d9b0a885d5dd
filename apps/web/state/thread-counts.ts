import type { Channel } from '../../../lib/contract/channel.ts';
import { call, path } from '../api/call.ts';
import { channels, putChannel, receivedAt } from './servers.ts';

/** How long after a thread's count was received an event may be for a message that the count already includes, in milliseconds. */
const uncertainMs = 1_000;
/** A count that may be wrong is loaded again after the thread had no events for this long, in milliseconds. */
const quietMs = 3_000;

const timers = new Map<string, ReturnType<typeof setTimeout>>();

/** Loads a thread again after it had no events for `quietMs`. If the request fails, the count stays unchanged. */
function reloadLater(threadId: string): void {
  clearTimeout(timers.get(threadId));
  const reload = (): void => {
    timers.delete(threadId);
    call<Channel>('GET', path`/api/channels/${threadId}`).then(putChannel, () => undefined);
  };
  timers.set(threadId, setTimeout(reload, quietMs));
}

/** Adds a message to a thread's count (1) or removes one (-1). Does nothing for other channels. */
export function countInThread(channelId: string, by: 1 | -1): void {
  const thread = channels.value.get(channelId);
  if (thread?.kind !== 'thread') return;
  const isUncertain = performance.now() - (receivedAt.get(thread) ?? 0) < uncertainMs;
  putChannel({ ...thread, messageCount: Math.max(0, (thread.messageCount ?? 0) + by) }, receivedAt.get(thread) ?? 0);
  if (isUncertain || timers.has(channelId)) reloadLater(channelId);
}
