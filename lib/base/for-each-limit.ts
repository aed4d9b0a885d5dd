import pMap from 'p-map';

/** Runs `work` for each of `items`, at most `limit` at once. A failure does not stop the others. Throws the first error after all have ended. */
export async function forEachLimit<T>(items: readonly T[], limit: number, work: (item: T) => Promise<unknown>): Promise<void> {
  try {
    await pMap(items, work, { concurrency: limit, stopOnError: false });
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
}
