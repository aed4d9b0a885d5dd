/** Runs `work` when its key has a free slot, and returns or throws what `work` does. */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Creates a concurrency limiter: at most `max` pieces of work of one key run at once, and the others wait. Keys do not wait for one another. The oldest waiting
 * work starts first, or with `newestFirst` the newest. Use that for work that is useless after a deadline: oldest first, a backlog would make all of it late.
 */
export function createTurns(max: number, { newestFirst = false } = {}): Turns {
  const lanes = new Map<string, { running: number; waiting: (() => void)[] }>();
  return async (key, work) => {
    const lane = lanes.get(key) ?? { running: 0, waiting: [] };
    lanes.set(key, lane);
    if (lane.running < max) lane.running++;
    else await new Promise<void>((resolve) => lane.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = newestFirst ? lane.waiting.pop() : lane.waiting.shift();
      if (next) next();
      else if (--lane.running === 0) lanes.delete(key);
    }
  };
}
