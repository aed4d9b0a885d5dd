import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { Following } from '../../store/queue/queue.ts';
import { type ChannelHorizon, readEndedWrite } from '../../store/redis/horizon.ts';
import { batchLifeMs } from './outbox-source.ts';

/**
 * Messages of a channel with pending events, oldest first, and the horizon that they were read with: null while Redis is unavailable. `isAll`: whether there
 * are no others.
 */
export interface KnownMessages {
  horizon: ChannelHorizon | null;
  messages: readonly MessageDoc[];
  isAll: boolean;
}

/** What a worker that stays with a channel remembers for its next run. Of the first `ended` inserts, all messages are relayed but those in `held`. */
interface Remembered {
  ended: number;
  held: readonly MessageDoc[];
  /** When it was remembered, by the process' monotonic clock. */
  at: number;
}

/** The most messages that are held for the next run. */
const heldMost = 100;

/**
 * The messages to relay, as known from the data of the wakes, without a database query. Null when a message may be missing: the caller must then query the
 * database. Ended inserts are counted, so a lost wake, or an insert whose process died before its end, shows as a gap in the count.
 */
export function takeWakeMessages(following: Following): KnownMessages | null {
  const { remembered } = following as { remembered: Remembered | null };
  const wakes = following.wakes.splice(0);
  following.remembered = null;
  if (!remembered || wakes.length === 0 || performance.now() - remembered.at > batchLifeMs) return null;
  const messages = new Map(remembered.held.map((message) => [message._id, message]));
  let horizon: ChannelHorizon | null = null;
  let { ended } = remembered;
  for (const one of wakes) {
    const write = readEndedWrite(one);
    if (!write || write.message === undefined || write.horizon.ended !== ++ended) return null;
    if (write.message) messages.set(write.message._id, write.message);
    horizon = write.horizon;
  }
  return { horizon, messages: [...messages.values()].sort((a, b) => (a._id < b._id ? -1 : 1)), isAll: true };
}

/** Remembers the messages that wait for an older insert, for the next run. The first `relayed` of `messages` are relayed. */
export function remember(following: Following, { horizon, messages }: KnownMessages, relayed: number): void {
  const held = messages.slice(relayed);
  if (horizon && held.length <= heldMost) following.remembered = { ended: horizon.ended, held, at: performance.now() } satisfies Remembered;
}
