import type { IncomingMessage } from 'node:http';
import { newRefusal, type Refusal } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { tooSlow, waitForBody, watchPace } from './pace.ts';

/** One limit on the slots of a pool. `key` names the party that it counts, such as `server:12`. */
export interface Share {
  key: string;
  most: number;
  /** How many of `most` are reserved for parties that hold no slot. */
  spare: number;
}

/** Slots for bodies that are being read. */
export interface SlotPool {
  /**
   * Calls `read` in a slot, when the first byte of the body has arrived and a slot is free. `shares` are all limits that the body counts against; the first one
   * names its party. `read` gets a promise that rejects when the body falls below the minimum pace. Refuses `body_too_slow`, and `rate_limited` when no slot
   * becomes free in time or too many bodies are waiting.
   */
  run<T>(request: IncomingMessage, shares: readonly Share[], read: (failed: Promise<never>) => Promise<T>): Promise<T>;
}

interface Slot {
  shares: readonly Share[];
  isSlow: () => boolean;
  cut: () => void;
}

interface Waiter {
  shares: readonly Share[];
  start: () => void;
}

/** While bodies wait, slots are checked for slow bodies this often, in milliseconds. */
const lookEveryMs = 250;
const busy = (): Refusal => newRefusal('rate_limited', { seconds: 1 }, { retryAfter: 1 });
const partyOf = ({ shares }: { shares: readonly Share[] }): string => shares[0]?.key ?? '';

/**
 * Creates a pool that shares its slots fairly. Spare slots are reserved for parties that hold no slot, and these parties are served first. If no slot is left
 * for such a party, a slow body of the party with the most slots is refused (408) and its slot freed. A body waits unread for at most `waitMs`.
 */
export function createSlotPool({ waitMs }: { waitMs: number }): SlotPool {
  const held = new Map<string, number>();
  const slots = new Set<Slot>();
  const waiting = new Set<Waiter>();
  let looking: NodeJS.Timeout | undefined;

  const heldBy = (key: string): number => held.get(key) ?? 0;
  const count = (shares: readonly Share[], by: 1 | -1): void => {
    for (const { key } of shares) {
      const now = heldBy(key) + by;
      if (now === 0) held.delete(key);
      else held.set(key, now);
    }
  };
  const isNewcomer = (one: { shares: readonly Share[] }): boolean => heldBy(partyOf(one)) === 0;
  const fullShares = (one: { shares: readonly Share[] }): string[] => {
    const keepsOff = isNewcomer(one) ? 0 : 1;
    return one.shares.filter(({ key, most, spare }) => heldBy(key) >= most - spare * keepsOff).map(({ key }) => key);
  };
  const free = (slot: Slot): void => {
    if (slots.delete(slot)) count(slot.shares, -1);
  };
  /** Whether there is a slot for `one`. Refuses a slow body if that frees a slot for a party that holds none. */
  const hasSlot = (one: { shares: readonly Share[] }): boolean => {
    const full = fullShares(one);
    if (full.length === 0) return true;
    if (!isNewcomer(one)) return false;
    const slow = [...slots].filter(({ shares, isSlow }) => isSlow() && full.every((key) => shares.some((share) => share.key === key)));
    const [last] = slow.toSorted((a, b) => heldBy(partyOf(b)) - heldBy(partyOf(a)));
    if (!last) return false;
    free(last);
    last.cut();
    return true;
  };
  const serve = (): void => {
    const inOrder = [...waiting].toSorted((a, b) => Number(isNewcomer(b)) - Number(isNewcomer(a)));
    for (const one of inOrder) if (hasSlot(one)) one.start();
    if (waiting.size === 0) {
      clearInterval(looking);
      looking = undefined;
    }
  };
  /** Waits for a slot and counts it as held. */
  const acquire = (request: IncomingMessage, shares: readonly Share[]): Promise<void> => {
    if (waiting.size === 0 && hasSlot({ shares })) {
      count(shares, 1);
      return Promise.resolve();
    }
    const own = [...waiting].filter((one) => partyOf(one) === partyOf({ shares })).length;
    if (waiting.size >= limits.slotsAwaited || own >= limits.slotsAwaitedPerParty) return Promise.reject(busy());
    return new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        request.off('close', gone);
        waiting.delete(waiter);
      };
      const refuse = (refusal: Refusal): void => {
        leave();
        reject(refusal);
      };
      const gone = (): void => refuse(newRefusal('invalid_request', { reason: 'the body ended early' }));
      const timer = setTimeout(() => refuse(busy()), waitMs);
      const start = (): void => {
        leave();
        count(shares, 1);
        resolve();
      };
      const waiter: Waiter = { shares, start };
      waiting.add(waiter);
      request.once('close', gone);
      looking ??= setInterval(serve, lookEveryMs);
      serve();
    });
  };

  return {
    async run(request, shares, read) {
      await waitForBody(request);
      await acquire(request, shares);
      const pace = watchPace(request);
      const slot: Slot = { shares, isSlow: () => pace.isSlow(), cut: () => pace.fail(tooSlow()) };
      slots.add(slot);
      try {
        return await read(pace.failed);
      } finally {
        pace.stop();
        free(slot);
        serve();
      }
    },
  };
}
