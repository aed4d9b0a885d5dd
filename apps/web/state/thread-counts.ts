import type { Channel } from '../../../lib/contract/channel.ts';
import { call, path } from '../api/call.ts';
import { channels, putChannel, receivedAt } from './servers.ts';

/** So long after the service said a thread's count, an event may be of a message that the count knows, in milliseconds. */
const uncertainMs = 1_000;
/** A count that may be wrong is read again when the thread has been quiet for so long, in milliseconds. */
const quietMs = 3_000;

const timers = new Map<string, ReturnType<typeof setTimeout>>();

/** Reads a thread again once it is quiet. A read that fails leaves the count as it is. */
function readAgain(threadId: string): void {
  clearTimeout(timers.get(threadId));
  const read = (): void => {
    timers.delete(threadId);
    call<Channel>('GET', path`/api/channels/${threadId}`).then(putChannel, () => undefined);
  };
  timers.set(threadId, setTimeout(read, quietMs));
}

/** Counts a message that came into a thread (1) or went out of it (-1). Does nothing for other channels. */
export function countInThread(channelId: string, by: 1 | -1): void {
  const thread = channels.value.get(channelId);
  if (thread?.kind !== 'thread') return;
  const isUncertain = Date.now() - (receivedAt.get(thread) ?? 0) < uncertainMs;
  putChannel({ ...thread, messageCount: Math.max(0, (thread.messageCount ?? 0) + by) }, receivedAt.get(thread) ?? 0);
  if (isUncertain || timers.has(channelId)) readAgain(channelId);
}
