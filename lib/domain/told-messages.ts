import { type ChannelHorizon, readEndedWrite } from '../store/horizon.ts';
import type { MessageDoc } from '../store/models/message.ts';
import type { Following } from '../store/queue.ts';

/** Messages of a channel with pending events, the oldest first, as of a horizon; null while Redis is away. `isAll`: whether there are no others. */
export interface KnownMessages {
  horizon: ChannelHorizon | null;
  messages: readonly MessageDoc[];
  isAll: boolean;
}

/** What a worker that stays with a channel remembers: of the inserts that have ended, `ended` in number, all messages are relayed, or held. */
interface Remembered {
  ended: number;
  held: readonly MessageDoc[];
  /** When it was remembered, by the process' monotonic clock. */
  at: number;
}

/** How many messages are held for the next run. */
const heldMost = 100;
/** What is older was followed by a pause of the process: others may have relayed the messages since. In milliseconds. */
const rememberedMs = 5_000;

/**
 * The messages that are to be relayed by what the wakes told, without a look at the database. Null when something may be missing: the database is to be asked
 * then. The ends of inserts are counted, so a wake that was lost, or an insert whose process died before its end, is seen as a jump of the count.
 */
export function takeTold(following: Following): KnownMessages | null {
  const { remembered } = following as { remembered: Remembered | null };
  const told = following.told.splice(0);
  following.remembered = null;
  if (!remembered || told.length === 0 || performance.now() - remembered.at > rememberedMs) return null;
  const messages = new Map(remembered.held.map((message) => [message._id, message]));
  let horizon: ChannelHorizon | null = null;
  let { ended } = remembered;
  for (const one of told) {
    const write = readEndedWrite(one);
    if (!write || write.message === undefined || write.horizon.ended !== ++ended) return null;
    if (write.message) messages.set(write.message._id, write.message);
    horizon = write.horizon;
  }
  return { horizon, messages: [...messages.values()].sort((a, b) => (a._id < b._id ? -1 : 1)), isAll: true };
}

/** Remembers, for the next run, the messages that wait for an older insert; the first `relayed` of those known were relayed. */
export function remember(following: Following, { horizon, messages }: KnownMessages, relayed: number): void {
  const held = messages.slice(relayed);
  if (horizon && held.length <= heldMost) following.remembered = { ended: horizon.ended, held, at: performance.now() } satisfies Remembered;
}
