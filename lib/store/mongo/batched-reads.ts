import { toParts } from '../../base/parts.ts';
import { perTurn } from '../../base/per-turn.ts';
import type { Collection, Filter } from './database.ts';

/** The id of a document in a sharded collection, and its shard key. */
type ShardedKey = Readonly<Record<string, string>> & { readonly _id: string };

/** How many ids one query has at most. A database that compares each document with all ids again takes longer for more. */
export const idsPerQuery = 125;

const loaders = new WeakMap<object, (keys: readonly ShardedKey[]) => Promise<unknown[]>>();

/** The filter of documents by their keys, which all have the same fields. */
const toFilter = <T>(keys: readonly ShardedKey[]): Filter<T> =>
  Object.fromEntries(Object.keys(keys[0] ?? {}).map((field) => [field, { $in: [...new Set(keys.map((key) => key[field]))] }])) as Filter<T>;

/** The hint keeps the database from combining the index of ids with that of a shard key, which has all members of a server. */
const createLoader = <T extends { _id: string }>(collection: Collection<T>): ((keys: readonly ShardedKey[]) => Promise<unknown[]>) =>
  perTurn(async (asked) => {
    const queries = toParts(asked.flat(), idsPerQuery).map((keys) =>
      collection.find(toFilter<T>(keys), { hint: '_id_', batchSize: keys.length }).toArray(),
    );
    const found = new Map((await Promise.all(queries)).flat().map((one) => [one._id as string, one]));
    return asked.map((some) => some.flatMap(({ _id }) => found.get(_id) ?? []));
  });

/**
 * Reads documents by their ids or keys, in that order; those that don't exist are left out. All that are requested from a collection in one turn of the event
 * loop are read together, with one query per 125 ids. So a client that resumes in a thousand servers, or thousands of clients that resume at once, need only a
 * few queries.
 */
export async function readByIds<T extends { _id: string }>(
  collection: Collection<T>,
  keys: readonly (string | ShardedKey)[],
): Promise<T[]> {
  if (keys.length === 0) return [];
  const load = loaders.get(collection) ?? createLoader(collection);
  loaders.set(collection, load);
  return (await load(keys.map((key) => (typeof key === 'string' ? { _id: key } : key)))) as T[];
}

/** Reads a document by its id as `readByIds` does; null when there is none. For a sharded collection, pass its shard key. */
export const readById = async <T extends { _id: string }>(
  collection: Collection<T>,
  _id: string,
  shardKey: Readonly<Record<string, string>> = {},
): Promise<T | null> => (await readByIds(collection, [{ ...shardKey, _id }]))[0] ?? null;
