/** Why a queue accepts no more work: too much work waits for this key (`key`), or in total (`all`). */
export type QueueFull = 'key' | 'all';

/** How many pieces of work a fair queue runs at once and keeps waiting. */
export interface FairQueueOptions {
  maxRunning: number;
  maxWaitingPerKey: number;
  maxWaiting: number;
  /**
   * Whether slots are kept free for keys without running work. If true, work starts only while its first key has fewer pieces running than there are free
   * slots, and its second key fewer than half as many. A single first key then gets half of `maxRunning`, and a single second key a third. Several keys get
   * equal shares. Default: false, so one key may use all slots.
   */
  reservesSlots?: boolean;
  /** How many pieces of work of one first key, and of one second key, run at once. Default: no limit. */
  maxRunningPerKey?: readonly number[];
}

/**
 * Runs `work` when the queue has a free slot for `keys`, and returns or throws what `work` does. Throws at once what `onFull` throws if no more work may wait.
 */
export type FairQueue = <T>(keys: string | readonly [string, ...string[]], work: () => Promise<T>) => Promise<T>;

/** A waiting piece of work. */
interface Waiter {
  keys: readonly string[];
  start: () => void;
}

/**
 * Creates a queue that runs at most `maxRunning` pieces of work at once. Waiting work is served round robin by first key, so a key with much work delays the
 * others by only one piece at a time. Within a first key, work is preferred whose second key has the fewest pieces running; otherwise the oldest is served
 * first.
 */
export function createFairQueue(
  { maxRunning, maxWaitingPerKey, maxWaiting, reservesSlots = false, maxRunningPerKey = [] }: FairQueueOptions,
  onFull: (reason: QueueFull) => never,
): FairQueue {
  /** The waiting work of each first key. Keys are served in the order of the map. */
  const waiting = new Map<string, Waiter[]>();
  const runningByKey = new Map<string, number>();
  let running = 0;
  let waitingCount = 0;

  const hasSlot = (keys: readonly string[]): boolean =>
    running < maxRunning &&
    keys.every((key, at) => {
      const runningOfKey = runningByKey.get(key) ?? 0;
      if (runningOfKey >= (maxRunningPerKey[at] ?? Number.POSITIVE_INFINITY)) return false;
      return !reservesSlots || runningOfKey * (at + 1) < maxRunning - running;
    });
  const runningOfSecondKey = ({ keys: [, second = ''] }: Waiter): number => runningByKey.get(second) ?? 0;

  const addRunning = (keys: readonly string[], delta: 1 | -1): void => {
    running += delta;
    for (const key of keys) {
      const now = (runningByKey.get(key) ?? 0) + delta;
      if (now === 0) runningByKey.delete(key);
      else runningByKey.set(key, now);
    }
  };

  /** Starts the next piece of work that may run. Returns false if there is none. */
  const startNext = (): boolean => {
    for (const [key, waiters] of waiting) {
      const [next] = waiters.filter(({ keys }) => hasSlot(keys)).sort((a, b) => runningOfSecondKey(a) - runningOfSecondKey(b));
      if (!next) continue;
      waiters.splice(waiters.indexOf(next), 1);
      waiting.delete(key);
      if (waiters.length > 0) waiting.set(key, waiters);
      waitingCount--;
      addRunning(next.keys, 1);
      next.start();
      return true;
    }
    return false;
  };

  return async (keyOrKeys, work) => {
    const keys = typeof keyOrKeys === 'string' ? [keyOrKeys] : keyOrKeys;
    const key = keys[0] ?? '';
    if (hasSlot(keys)) addRunning(keys, 1);
    else {
      const waiters = waiting.get(key) ?? [];
      if (waiters.length >= maxWaitingPerKey) onFull('key');
      if (waitingCount >= maxWaiting) onFull('all');
      waiting.set(key, waiters);
      waitingCount++;
      await new Promise<void>((start) => waiters.push({ keys, start }));
    }
    try {
      return await work();
    } finally {
      addRunning(keys, -1);
      while (running < maxRunning && startNext());
    }
  };
}
