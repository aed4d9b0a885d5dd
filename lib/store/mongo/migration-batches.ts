/** A batch of a migration that is done. */
export interface Batch {
  /** Everything up to here is done. */
  position: string;
  /** The number of documents that were read. */
  count: number;
}

/** Runs `work` on each batch of documents that `read` returns, in the order of their `_id`, from the first one after `after` on. */
export async function* inBatches<T extends { _id: string }>(
  after: string,
  read: (position: string) => Promise<T[]>,
  work: (batch: T[]) => Promise<void>,
): AsyncGenerator<Batch> {
  for (let position = after; ; ) {
    const batch = await read(position);
    const last = batch.at(-1);
    if (!last) return;
    await work(batch);
    position = last._id;
    yield { position, count: batch.length };
  }
}
