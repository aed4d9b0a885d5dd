/** Why a queue took no more work: too much waits for this key, or in all. */
export type QueueFull = 'key' | 'all';

/** How much a fair queue runs and keeps waiting. */
export interface FairQueueBounds {
  atOnce: number;
  waitingPerKey: number;
  waitingInAll: number;
  /**
   * Whether room is kept for keys of which nothing runs. Then the first key of a piece of work has at most as many running as could be started besides, its
   * second key at most half as many: alone, they get a half and a third of `atOnce`; several settle at equal shares. Default false: one key may take all.
   */
  keepsRoom?: boolean;
}

/**
 * Runs `work` when it is the turn of the first of `keys`; the outcome is the work's own. Throws what `onFull` throws, at once, when no more may wait.
 */
export type FairQueue = <T>(keys: string | readonly [string, ...string[]], work: () => Promise<T>) => Promise<T>;

/** A piece of work that waits. */
interface Waiter {
  keys: readonly string[];
  start: () => void;
}

/**
 * At most `atOnce` pieces of work run at once. What waits is served round robin by first key, so that a key with much work delays the others by one piece at a
 * time. Within a first key the work goes first of whose second key the least runs, else first come first served.
 */
export function createFairQueue(
  { atOnce, waitingPerKey, waitingInAll, keepsRoom = false }: FairQueueBounds,
  onFull: (why: QueueFull) => never,
): FairQueue {
  /** What waits of each first key. The order of the map is the order of turns. */
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

  /** Starts the first piece of work that may run; false when there is none. */
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
