import type { Collection, Filter } from './database.ts';

/** How many documents one operation deletes, so that it stays far below the time limit of an operation. */
const batchSize = 1_000;

/** Deletes all documents that match `filter`, batch by batch. Calls `beforeBatch` before each. */
export async function deleteInBatches<T extends { _id: string }>(
  collection: Collection<T>,
  filter: Filter<NoInfer<T>>,
  beforeBatch: () => Promise<unknown>,
): Promise<void> {
  for (let found = batchSize; found === batchSize; ) {
    await beforeBatch();
    const docs = await collection.find(filter, { projection: { _id: 1 }, limit: batchSize }).toArray();
    found = docs.length;
    const batch = { ...filter, _id: { $in: docs.map(({ _id }) => _id) } } as Filter<T>;
    if (found > 0) await collection.deleteMany(batch, { hint: '_id_' });
  }
}
