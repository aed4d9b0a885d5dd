/** How often a statement that lost a race is run. */
export const raceAttempts = 30;

const lines = new Map<string, Promise<unknown>>();

/**
 * Runs `work` when all that was put in the same line before is done. Statements that lost a race queue here by collection: run again all
 * at once they would deadlock in turn, for seconds when dozens write one unique value.
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
