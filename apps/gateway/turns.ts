/** Runs at most `width` of the works given to it at once, the others wait in order. */
export function createTurns(width: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running < width) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

/** Runs `work` for each of `items`, at most `width` at once. Rejects with the first fault, when all begun have ended. */
export async function inTurns<T>(items: Iterable<T>, width: number, work: (item: T) => Promise<void>): Promise<void> {
  const turns = createTurns(width);
  const ends = await Promise.allSettled([...items].map((item) => turns(() => work(item))));
  const fault = ends.find((end) => end.status === 'rejected');
  if (fault) throw fault.reason;
}
