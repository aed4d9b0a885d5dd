/** Runs `work` for each of `items`, at most `atOnce` at the same time. A failure does not stop the others. Throws the first error after all have ended. */
export async function forEachAtOnce<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = items.values();
  const faults: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (const item of waiting)
      await work(item).catch((error: unknown) => {
        faults.push(error);
      });
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  if (faults.length) throw faults[0];
}
