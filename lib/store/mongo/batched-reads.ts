import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import type { Collection, Filter } from './database.ts';

/** How many documents one query reads at most. */
const maxIdsPerQuery = 500;

type FoundDocs = ReadonlyMap<string, unknown>;

/** The shard key of a document besides its `_id`, for a sharded collection. */
type ShardKey = Readonly<Record<string, string>>;

/** The ids that were requested from a collection in this turn of the event loop with their shard keys, and the documents found for them. */
interface Batch {
  readonly shardKeys: Map<string, ShardKey>;
  readonly found: Promise<FoundDocs>;
}

const batches = new WeakMap<object, Batch>();

/** The filter of documents by their ids and shard keys. All shard keys of a collection have the same fields. */
function toFilter<T>(wanted: readonly (readonly [id: string, shardKey: ShardKey])[]): Filter<T> {
  const fields = Object.keys(wanted[0]?.[1] ?? {});
  const shardKeys = fields.map((field) => [field, { $in: [...new Set(wanted.map(([, shardKey]) => shardKey[field]))] }]);
  return { _id: { $in: wanted.map(([id]) => id) }, ...Object.fromEntries(shardKeys) } as Filter<T>;
}

/** The hint keeps the database from combining the index of ids with that of a shard key, which has all members of a server. */
async function readBatch<T extends { _id: string }>(collection: Collection<T>, shardKeys: Batch['shardKeys']): Promise<FoundDocs> {
  await waitForNextTurn();
  batches.delete(collection);
  const wanted = [...shardKeys];
  const chunks = Array.from({ length: Math.ceil(wanted.length / maxIdsPerQuery) }, (_, index) =>
    wanted.slice(index * maxIdsPerQuery, (index + 1) * maxIdsPerQuery),
  );
  const found = await Promise.all(chunks.map((chunk) => collection.find(toFilter<T>(chunk), { hint: '_id_' }).toArray()));
  return new Map(found.flat().map((one) => [one._id, one]));
}

/**
 * Reads a document by its id; null when there is none. All ids that are requested from a collection in one turn of the event loop are read together, with one
 * query per 500 ids. So a client that resumes in a thousand servers, or thousands of clients that resume at once, need only a few queries. For a sharded
 * collection, pass the shard key of the document.
 */
export async function readById<T extends { _id: string }>(
  collection: Collection<T>,
  id: string,
  shardKey: ShardKey = {},
): Promise<T | null> {
  let batch = batches.get(collection);
  if (!batch) {
    const shardKeys = new Map<string, ShardKey>();
    batch = { shardKeys, found: readBatch(collection, shardKeys) };
    batches.set(collection, batch);
  }
  batch.shardKeys.set(id, shardKey);
  return ((await batch.found).get(id) as T | undefined) ?? null;
}

/** Reads documents by their ids, in the order of `ids`. Ids without a document are left out. */
export async function readByIds<T extends { _id: string }>(collection: Collection<T>, ids: readonly string[]): Promise<T[]> {
  return (await Promise.all(ids.map((id) => readById(collection, id)))).filter((one) => one !== null);
}
