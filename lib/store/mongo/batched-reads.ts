import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import type { Collection, Filter } from './database.ts';

/** How many documents one query reads at most. */
const maxIdsPerQuery = 500;

type FoundDocs = ReadonlyMap<string, unknown>;

/** The ids that were requested from a collection in this turn of the event loop, and the documents found for them. */
interface Batch {
  readonly ids: Set<string>;
  readonly found: Promise<FoundDocs>;
}

const batches = new WeakMap<object, Batch>();

async function readBatch<T extends { _id: string }>(collection: Collection<T>, ids: ReadonlySet<string>): Promise<FoundDocs> {
  await waitForNextTurn();
  batches.delete(collection);
  const allIds = [...ids];
  const chunks = Array.from({ length: Math.ceil(allIds.length / maxIdsPerQuery) }, (_, index) =>
    allIds.slice(index * maxIdsPerQuery, (index + 1) * maxIdsPerQuery),
  );
  const found = await Promise.all(chunks.map((chunk) => collection.find({ _id: { $in: chunk } } as Filter<T>).toArray()));
  return new Map(found.flat().map((one) => [one._id, one]));
}

/**
 * Reads a document by its id; null when there is none. All ids that are requested from a collection in one turn of the event loop are read together, with one
 * query per 500 ids. So a client that resumes in a thousand servers, or thousands of clients that resume at once, need only a few queries.
 */
export async function readById<T extends { _id: string }>(collection: Collection<T>, id: string): Promise<T | null> {
  let batch = batches.get(collection);
  if (!batch) {
    const ids = new Set<string>();
    batch = { ids, found: readBatch(collection, ids) };
    batches.set(collection, batch);
  }
  batch.ids.add(id);
  return ((await batch.found).get(id) as T | undefined) ?? null;
}

/** Reads documents by their ids, in the order of `ids`. Ids without a document are left out. */
export async function readByIds<T extends { _id: string }>(collection: Collection<T>, ids: readonly string[]): Promise<T[]> {
  return (await Promise.all(ids.map((id) => readById(collection, id)))).filter((one) => one !== null);
}
