import type { MessageDoc } from '../../store/mongo/models/message.ts';
import { type ChannelHorizon, readEndedWrite } from '../../store/redis/horizon.ts';
import type { Appended } from '../../store/redis/log/confirm.ts';
import type { RunState } from '../../store/redis/wakes.ts';
import { batchLifeMs } from '../events/outboxes.ts';

/**
 * Messages of a channel with pending events, oldest first, and the horizon that they were read with: null while Redis is unavailable. `isAll`: whether there
 * are no others. `earlier`: the newest message of the channel that is in the log, in each place; absent if the last run appended it.
 */
export interface PendingMessages {
  horizon: ChannelHorizon | null;
  messages: readonly MessageDoc[];
  isAll: boolean;
  earlier?: readonly Appended[];
}

/**
 * What the owner of a channel saves for its next run. Of the first `endedInserts` inserts, all messages are relayed but those in `unrelayed`.
 */
interface ChannelRunState {
  endedInserts: number;
  unrelayed: readonly MessageDoc[];
  /** When it was saved, by the process' monotonic clock. */
  savedAtMs: number;
}

/** How many messages are kept for the next run at most. */
const unrelayedMax = 100;

/**
 * The messages to relay, as known from the data of the wakes, without a database query. Null when a message may be missing: the caller must then query the
 * database. Ended inserts are counted, so a lost wake, or an insert whose process died before its end, shows as a gap in the count.
 */
export function takeWakeMessages(state: RunState, payloads: readonly unknown[]): PendingMessages | null {
  const saved = state.saved as ChannelRunState | null;
  state.saved = null;
  if (!saved || payloads.length === 0 || performance.now() - saved.savedAtMs > batchLifeMs) return null;
  const messages = new Map(saved.unrelayed.map((message) => [message._id, message]));
  let horizon: ChannelHorizon | null = null;
  let { endedInserts } = saved;
  for (const payload of payloads) {
    const write = readEndedWrite(payload);
    if (!write || write.message === undefined || write.horizon.endedInserts !== ++endedInserts) return null;
    if (write.message) messages.set(write.message._id, write.message);
    horizon = write.horizon;
  }
  return { horizon, messages: [...messages.values()].sort((a, b) => (a._id < b._id ? -1 : 1)), isAll: true };
}

/** Saves the messages that wait for an older insert, for the next run. The first `relayed` of `messages` are relayed. */
export function saveRunState(state: RunState, { horizon, messages }: PendingMessages, relayed: number): void {
  const unrelayed = messages.slice(relayed);
  if (horizon && unrelayed.length <= unrelayedMax)
    state.saved = { endedInserts: horizon.endedInserts, unrelayed, savedAtMs: performance.now() } satisfies ChannelRunState;
}
