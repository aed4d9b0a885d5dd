/** The maximum number of attempts for a statement that lost a race. */
export const raceAttempts = 30;

const lines = new Map<string, Promise<unknown>>();

/**
 * Runs `work` after all earlier work in the same `line` has finished. Statements that lost a race wait here, in one line per collection: if all were run again
 * at once, they would deadlock again, for seconds when dozens write one unique value.
 */
export async function inSingleFile<T>(line: string, work: () => Promise<T>): Promise<T> {
  const before = lines.get(line);
  const mine = Promise.resolve(before).then(work);
  const settled = mine.catch(() => undefined);
  lines.set(line, settled);
  try {
    return await mine;
  } finally {
    if (lines.get(line) === settled) lines.delete(line);
  }
}
