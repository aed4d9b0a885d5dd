import { foldSearch } from '../../base/text.ts';
import type { Collection, Collections, Filter } from './database.ts';
import { type Batch, inBatches } from './migration-batches.ts';

/** How many documents are read at once. */
const batchSize = 500;

interface Searched {
  _id: string;
  /** The shard key of members. */
  serverId?: string;
  search?: Record<string, string>;
}

/** Writes the stored texts of searches as `foldSearch` does: an earlier version kept their accents. A text that is written meanwhile stays. */
function foldCollection(collection: Collection<Searched>, after: string): AsyncIterable<Batch> {
  const read = (position: string): Promise<Searched[]> =>
    collection
      .find({ _id: { $gt: position } }, { projection: { search: 1, serverId: 1 } })
      .sort({ _id: 1 })
      .limit(batchSize)
      .toArray();
  const fold = async (batch: readonly Searched[]): Promise<void> => {
    const updates = batch.flatMap(({ _id, serverId, search = {} }) => {
      const changed = Object.entries(search).filter(([, text]) => foldSearch(text) !== text);
      if (changed.length === 0) return [];
      const unchanged = Object.fromEntries(changed.map(([field, text]) => [`search.${field}`, text]));
      const $set = Object.fromEntries(changed.map(([field, text]) => [`search.${field}`, foldSearch(text)]));
      const filter = { _id, ...(serverId === undefined ? {} : { serverId }), ...unchanged } as Filter<Searched>;
      return [{ updateOne: { filter, update: { $set } } }];
    });
    if (updates.length > 0) await collection.bulkWrite(updates, { ordered: false });
  };
  return inBatches(after, read, fold);
}

const toSearched = (collection: unknown): Collection<Searched> => collection as Collection<Searched>;

/** `foldCollection` of the names of members. */
export const foldMemberNames = ({ members }: Collections, after: string): AsyncIterable<Batch> =>
  foldCollection(toSearched(members), after);
/** `foldCollection` of what Discovery searches. */
export const foldServerTexts = ({ servers }: Collections, after: string): AsyncIterable<Batch> =>
  foldCollection(toSearched(servers), after);
/** `foldCollection` of what the App Directory searches. */
export const foldApplicationTexts = ({ applications }: Collections, after: string): AsyncIterable<Batch> =>
  foldCollection(toSearched(applications), after);
