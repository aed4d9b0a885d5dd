/** Why a queue accepts no more work: too much work waits for this key, or in all. */
export type QueueFull = 'key' | 'all';

/** How many pieces of work a fair queue runs at once and keeps waiting. */
export interface FairQueueBounds {
  atOnce: number;
  waitingPerKey: number;
  waitingInAll: number;
  /**
   * Whether slots are kept free for keys without running work. If true, work starts only while its first key has fewer pieces running than there are free
   * slots, and its second key fewer than half as many. A single first key then gets half of `atOnce`, and a single second key a third. Several keys get equal
   * shares. Default: false, so one key may use all slots.
   */
  keepsRoom?: boolean;
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
 * Creates a queue that runs at most `atOnce` pieces of work at once. Waiting work is served round robin by first key, so a key with much work delays the others
 * by only one piece at a time. Within a first key, work is preferred whose second key has the fewest pieces running; otherwise the oldest is served first.
 */
export function createFairQueue(
  { atOnce, waitingPerKey, waitingInAll, keepsRoom = false }: FairQueueBounds,
  onFull: (why: QueueFull) => never,
): FairQueue {
  /** The waiting work of each first key. Keys are served in the order of the map. */
  const waiting = new Map<string, Waiter[]>();
  const runningOf = new Map<string, number>();
  let running = 0;
  let waitingNow = 0;

  const fits = (keys: readonly string[]): boolean =>
    running < atOnce && (!keepsRoom || keys.every((key, at) => (runningOf.get(key) ?? 0) * (at + 1) < atOnce - running));
  const runningOfSecond = ({ keys: [, second = ''] }: Waiter): number => runningOf.get(second) ?? 0;

  const count = (keys: readonly string[], by: 1 | -1): void => {
    running += by;
    for (const key of keys) {
      const now = (runningOf.get(key) ?? 0) + by;
      if (now === 0) runningOf.delete(key);
      else runningOf.set(key, now);
    }
  };

  /** Starts the next piece of work that may run. Returns false if there is none. */
  const startNext = (): boolean => {
    for (const [key, lane] of waiting) {
      const [next] = lane.filter(({ keys }) => fits(keys)).sort((a, b) => runningOfSecond(a) - runningOfSecond(b));
      if (!next) continue;
      lane.splice(lane.indexOf(next), 1);
      waiting.delete(key);
      if (lane.length > 0) waiting.set(key, lane);
      waitingNow--;
      count(next.keys, 1);
      next.start();
      return true;
    }
    return false;
  };

  return async (given, work) => {
    const keys = typeof given === 'string' ? [given] : given;
    const key = keys[0] ?? '';
    if (fits(keys)) count(keys, 1);
    else {
      const lane = waiting.get(key) ?? [];
      if (lane.length >= waitingPerKey) onFull('key');
      if (waitingNow >= waitingInAll) onFull('all');
      waiting.set(key, lane);
      waitingNow++;
      await new Promise<void>((start) => lane.push({ keys, start }));
    }
    try {
      return await work();
    } finally {
      count(keys, -1);
      while (running < atOnce && startNext());
    }
  };
}
