/** Runs `work` when it is the turn of its key; the outcome is the work's own. */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * At most `max` pieces of work of one key run at once; others wait, first come first served, or with `newestFirst` last come first served: where work is worth
 * nothing after a deadline, a backlog served in its order would leave too little time to every one. Keys do not wait for one another.
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
