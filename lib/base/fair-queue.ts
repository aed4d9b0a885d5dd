/** Why a queue took no more work: too much waits for this key, or in all. */
export type QueueFull = 'key' | 'all';

/** How much a fair queue runs and keeps waiting. */
export interface FairQueueBounds {
  atOnce: number;
  waitingPerKey: number;
  waitingInAll: number;
}

/** Runs `work` when it is the turn of `key`; the outcome is the work's own. Throws what `onFull` throws, at once, when no more may wait. */
export type FairQueue = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * At most `atOnce` pieces of work run at once. What waits is served round robin by key, and within a key first come first served, so that a key with much work
 * delays the others by one piece at a time.
 */
export function createFairQueue({ atOnce, waitingPerKey, waitingInAll }: FairQueueBounds, onFull: (why: QueueFull) => never): FairQueue {
  /** What waits of each key. The order of the map is the order of turns. */
  const waiting = new Map<string, (() => void)[]>();
  let running = 0;
  let waitingNow = 0;

  const startNext = (): void => {
    const [first] = waiting;
    if (!first) return;
    const [key, lane] = first;
    waiting.delete(key);
    const start = lane.shift();
    if (lane.length > 0) waiting.set(key, lane);
    waitingNow--;
    running++;
    start?.();
  };

  return async (key, work) => {
    if (running < atOnce) running++;
    else {
      const lane = waiting.get(key) ?? [];
      if (lane.length >= waitingPerKey) onFull('key');
      if (waitingNow >= waitingInAll) onFull('all');
      waiting.set(key, lane);
      waitingNow++;
      await new Promise<void>((resolve) => lane.push(resolve));
    }
    try {
      return await work();
    } finally {
      running--;
      startNext();
    }
  };
}
