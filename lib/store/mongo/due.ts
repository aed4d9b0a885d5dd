import { forEachLimit } from '../../base/for-each-limit.ts';
import { type Database, type Documents, withSharedFields } from './database.ts';

/** Work that is due by a time in the documents that wait for it. */
export interface DueWork<P, C extends keyof Documents> {
  collection: C;
  /** The field that holds the time. It has an index, which has only documents with work. */
  due: string;
  /** How long after that time a sweep takes the work, in milliseconds. Default: 0. */
  afterMs?: number;
  /** Which documents have work, if the field alone does not say it. */
  where?: object;
  /** The name of the index to use, where the database would choose another one. */
  hint?: string;
  /** The fields that `run` needs beside `_id`. Default: all. */
  fields?: readonly string[];
  /** How many documents are read at once, those that have waited longest first. */
  max: number;
  /** Whether one run goes on until no work is left, as `run` leaves none of what it got. Default: it takes `max` documents. */
  takesAll?: true;
  run: (platform: P, found: Documents[C][]) => Promise<unknown>;
}

/** Does `work` for the documents one by one. A failure does not stop the others; the first error is thrown at the end. */
export const each =
  <P, D>(work: (platform: P, document: D) => Promise<unknown>) =>
  (platform: P, found: readonly D[]): Promise<void> =>
    forEachLimit(found, 1, (document) => work(platform, document));

/** A sweep that takes the work that is due (docs/guarantees.md#sweeps). */
export const sweepDue =
  <P extends { readonly db: Database; readonly now: () => number }, C extends keyof Documents>({
    collection,
    due,
    afterMs = 0,
    where = {},
    hint,
    fields,
    max,
    takesAll,
    run,
  }: DueWork<P, C>) =>
  async (platform: P): Promise<void> => {
    // The lower bound is for DocumentDB: with an upper bound alone, it reads and sorts the whole collection instead of the index.
    const time = { $gte: new Date(0), $lte: new Date(platform.now() - afterMs) };
    const projection = fields && { _id: 1, ...Object.fromEntries(fields.map((name) => [name, 1])) };
    const options = { limit: max, sort: { [due]: 1 } as const, ...(hint === undefined ? {} : { hint }), ...(projection && { projection }) };
    const documents = withSharedFields(platform.db[collection]);
    for (let isDone = false; !isDone; ) {
      const found = (await documents.find({ ...where, [due]: time }, options).toArray()) as object[] as Documents[C][];
      if (found.length > 0) await run(platform, found);
      isDone = !takesAll || found.length < max;
    }
  };

/** How many documents with one time a page leaves out at most, because they were on the pages before. */
const leftOutMax = 10_000;

/**
 * Reads documents page by page, in the order of the times in their field `by`, so that each query is short however many there are. `findPage` reads up to
 * `pageSize` documents with times from `from` on, from the beginning if it is null, without those that `leftOut` names. A document is on more than one page only
 * if its time changes meanwhile. Of more than 10,000 documents with one time, the rest is left to the next run.
 */
export async function* pagesByTime<F extends string, D extends { _id: string } & Record<F, Date>>(
  by: F,
  pageSize: number,
  findPage: (from: Date | null, leftOut: readonly string[]) => Promise<D[]>,
): AsyncGenerator<D[], void> {
  for (let [from, leftOut]: [Date | null, string[]] = [null, []]; ; ) {
    const page = await findPage(from, leftOut);
    if (page.length > 0) yield page;
    const [first, last] = [page[0], page.at(-1)];
    if (!first || !last || page.length < pageSize) return;
    const lastMs = last[by].getTime();
    const sameTimeIds = page.flatMap((one) => (one[by].getTime() === lastMs ? one._id : []));
    leftOut = from?.getTime() === lastMs ? [...leftOut, ...sameTimeIds] : sameTimeIds;
    from = new Date(leftOut.length > leftOutMax ? lastMs + 1 : lastMs);
  }
}
