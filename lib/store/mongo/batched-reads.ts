import { perTurn } from '../../base/per-turn.ts';
import type { Collection, Filter } from './database.ts';

/** The shard key of a document besides its `_id`, for a sharded collection. */
type ShardKey = Readonly<Record<string, string>>;

interface Wanted {
  id: string;
  shardKey: ShardKey;
}

const loaders = new WeakMap<object, (wanted: Wanted) => Promise<unknown>>();

/** The filter of documents by their ids and shard keys. All shard keys of a collection have the same fields. */
function toFilter<T>(wanted: readonly Wanted[]): Filter<T> {
  const fields = Object.keys(wanted[0]?.shardKey ?? {});
  const shardKeys = fields.map((field) => [field, { $in: [...new Set(wanted.map(({ shardKey }) => shardKey[field]))] }]);
  return { _id: { $in: [...new Set(wanted.map(({ id }) => id))] }, ...Object.fromEntries(shardKeys) } as Filter<T>;
}

/** The hint keeps the database from combining the index of ids with that of a shard key, which has all members of a server. */
const createLoader = <T extends { _id: string }>(collection: Collection<T>): ((wanted: Wanted) => Promise<unknown>) =>
  perTurn(async (wanted) => {
    const docs = await collection.find(toFilter<T>(wanted), { hint: '_id_', batchSize: wanted.length }).toArray();
    const found = new Map(docs.map((one) => [one._id as string, one]));
    return wanted.map(({ id }) => found.get(id) ?? null);
  });

/**
 * Reads a document by its id; null when there is none. All ids that are requested from a collection in one turn of the event loop are read together, with one
 * query per 500 ids. So a client that resumes in a thousand servers, or thousands of clients that resume at once, need only a few queries. For a sharded
 * collection, pass the shard key of the document.
 */
export function readById<T extends { _id: string }>(collection: Collection<T>, id: string, shardKey: ShardKey = {}): Promise<T | null> {
  const load = loaders.get(collection) ?? createLoader(collection);
  loaders.set(collection, load);
  return load({ id, shardKey }) as Promise<T | null>;
}

/** Reads documents by their ids, in the order of `ids`. Ids without a document are left out. */
export async function readByIds<T extends { _id: string }>(collection: Collection<T>, ids: readonly string[]): Promise<T[]> {
  return (await Promise.all(ids.map((id) => readById(collection, id)))).filter((one) => one !== null);
}
