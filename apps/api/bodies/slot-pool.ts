import type { IncomingMessage } from 'node:http';
import { newRefusal, type Refusal } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { createTooSlowRefusal, waitForFirstByte, watchPace } from './pace.ts';

/** One limit on the slots of a pool. `key` names the party that it counts, such as `server:12`. */
export interface SlotLimit {
  key: string;
  max: number;
  /** How many of `max` are reserved for parties that hold no slot. */
  reserved: number;
}

/** Slots for bodies that are being read. */
export interface SlotPool {
  /**
   * Calls `read` in a slot, when the first byte of the body has arrived and a slot is free. `slotLimits` are all limits that the body counts against; the first
   * one names its party. `read` gets a promise that rejects when the body falls below the minimum pace. Refuses `body_too_slow`, and `rate_limited` when no
   * slot becomes free in time or too many bodies are waiting.
   */
  run<T>(request: IncomingMessage, slotLimits: readonly SlotLimit[], read: (failed: Promise<never>) => Promise<T>): Promise<T>;
}

interface Slot {
  slotLimits: readonly SlotLimit[];
  isSlow: () => boolean;
  refuse: () => void;
}

interface Waiter {
  slotLimits: readonly SlotLimit[];
  start: () => void;
}

/** While bodies wait, slots are checked for slow bodies this often, in milliseconds. */
const checkIntervalMs = 250;
const createBusyRefusal = (): Refusal => newRefusal('rate_limited', { seconds: 1 }, { retryAfter: 1 });
const getParty = ({ slotLimits }: { slotLimits: readonly SlotLimit[] }): string => slotLimits[0]?.key ?? '';

/**
 * Creates a pool that shares its slots fairly. Some slots are reserved for parties that hold no slot, and these parties are served first. If no slot is left
 * for such a party, a slow body of the party with the most slots is refused (408) and its slot freed. A body waits unread for at most `waitMs`.
 */
export function createSlotPool({ waitMs }: { waitMs: number }): SlotPool {
  const heldByKey = new Map<string, number>();
  const slots = new Set<Slot>();
  const waiters = new Set<Waiter>();
  let checkTimer: NodeJS.Timeout | undefined;

  const countHeld = (key: string): number => heldByKey.get(key) ?? 0;
  const addHeld = (slotLimits: readonly SlotLimit[], change: 1 | -1): void => {
    for (const { key } of slotLimits) {
      const count = countHeld(key) + change;
      if (count === 0) heldByKey.delete(key);
      else heldByKey.set(key, count);
    }
  };
  const hasNoSlot = (waiter: { slotLimits: readonly SlotLimit[] }): boolean => countHeld(getParty(waiter)) === 0;
  const findFullLimits = (waiter: { slotLimits: readonly SlotLimit[] }): string[] => {
    const reservedFactor = hasNoSlot(waiter) ? 0 : 1;
    return waiter.slotLimits.filter(({ key, max, reserved }) => countHeld(key) >= max - reserved * reservedFactor).map(({ key }) => key);
  };
  const freeSlot = (slot: Slot): void => {
    if (slots.delete(slot)) addHeld(slot.slotLimits, -1);
  };
  /** Whether there is a slot for `waiter`. Refuses a slow body if that frees a slot for a party that holds none. */
  const hasSlot = (waiter: { slotLimits: readonly SlotLimit[] }): boolean => {
    const fullKeys = findFullLimits(waiter);
    if (fullKeys.length === 0) return true;
    if (!hasNoSlot(waiter)) return false;
    const slowSlots = [...slots].filter(
      ({ slotLimits, isSlow }) => isSlow() && fullKeys.every((key) => slotLimits.some((limit) => limit.key === key)),
    );
    const [slowest] = slowSlots.toSorted((a, b) => countHeld(getParty(b)) - countHeld(getParty(a)));
    if (!slowest) return false;
    freeSlot(slowest);
    slowest.refuse();
    return true;
  };
  const startWaiters = (): void => {
    const ordered = [...waiters].toSorted((a, b) => Number(hasNoSlot(b)) - Number(hasNoSlot(a)));
    for (const waiter of ordered) if (hasSlot(waiter)) waiter.start();
    if (waiters.size === 0) {
      clearInterval(checkTimer);
      checkTimer = undefined;
    }
  };
  /** Waits for a slot and counts it as held. */
  const acquire = (request: IncomingMessage, slotLimits: readonly SlotLimit[]): Promise<void> => {
    if (waiters.size === 0 && hasSlot({ slotLimits })) {
      addHeld(slotLimits, 1);
      return Promise.resolve();
    }
    const ownWaiting = [...waiters].filter((waiter) => getParty(waiter) === getParty({ slotLimits })).length;
    if (waiters.size >= limits.slotWaiters || ownWaiting >= limits.slotWaitersPerParty) return Promise.reject(createBusyRefusal());
    return new Promise<void>((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer);
        request.off('close', onClose);
        waiters.delete(waiter);
      };
      const refuse = (refusal: Refusal): void => {
        stopWaiting();
        reject(refusal);
      };
      const onClose = (): void => refuse(newRefusal('invalid_request', { reason: 'the body ended early' }));
      const timer = setTimeout(() => refuse(createBusyRefusal()), waitMs);
      const start = (): void => {
        stopWaiting();
        addHeld(slotLimits, 1);
        resolve();
      };
      const waiter: Waiter = { slotLimits, start };
      waiters.add(waiter);
      request.once('close', onClose);
      checkTimer ??= setInterval(startWaiters, checkIntervalMs);
      startWaiters();
    });
  };

  return {
    async run(request, slotLimits, read) {
      await waitForFirstByte(request);
      await acquire(request, slotLimits);
      const pace = watchPace(request);
      const slot: Slot = { slotLimits, isSlow: () => pace.isSlow(), refuse: () => pace.fail(createTooSlowRefusal()) };
      slots.add(slot);
      try {
        return await read(pace.failed);
      } finally {
        pace.stop();
        freeSlot(slot);
        startWaiters();
      }
    },
  };
}
