import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { findColdReason, isCold } from './notes.ts';
import { type Shape, toKey } from './shape.ts';

/** A query that the product made: its shape, the command, and the file and function that made it. */
export interface RecordedQuery {
  shape: Shape;
  operation: string;
  caller: string;
}

/** All queries of one shape that the tests make. */
export interface CataloguedQuery extends Shape {
  operations: string[];
  callers: string[];
  /** Why nobody waits for any of them; absent for hot queries. */
  cold?: string;
  /** The index that it uses; empty if it uses none. */
  index: string;
}

const file = new URL('catalogue.jsonl', import.meta.url);

/** The values in a file that has one in each line, as JSON. */
function readLines<T>(path: URL | string): T[] {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as T);
}

/** The queries that the tests make, as `npm run queries` has recorded them. */
export const catalogue = existsSync(file) ? readLines<CataloguedQuery>(file) : [];

/** The queries in a file that the recorder has written. */
export const readRecorded = (path: string): RecordedQuery[] => readLines<RecordedQuery>(path);

/** Writes the catalogue, one line for each query. */
export function writeCatalogue(queries: readonly CataloguedQuery[]): void {
  writeFileSync(file, queries.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

const known = new Map(catalogue.map((one) => [toKey(one), one]));

/** The queries whose shape the catalogue does not have, or has only as a cold one although a request or a relay waits for this one; one of each shape. */
export function findNewQueries<Q extends RecordedQuery>(queries: readonly Q[]): Q[] {
  const unknown = queries.filter(({ shape, caller }) => {
    const one = known.get(toKey(shape));
    return !one || (one.cold !== undefined && !isCold(caller));
  });
  return [...new Map(unknown.map((query) => [toKey(query.shape), query])).values()];
}

/** The queries of the catalogue and the recorded ones by their shapes, in the order of their collections. They have the index that is known already. */
export function mergeQueries(queries: readonly CataloguedQuery[], recorded: readonly RecordedQuery[]): CataloguedQuery[] {
  const byKey = new Map(queries.map((one) => [toKey(one), one]));
  for (const { shape, operation, caller } of recorded) {
    const key = toKey(shape);
    const { operations = [], callers = [], index = '' } = byKey.get(key) ?? {};
    const merged = { operations: [...new Set([...operations, operation])].sort(), callers: [...new Set([...callers, caller])].sort() };
    byKey.set(key, { ...shape, ...merged, index });
  }
  const sorted = [...byKey].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, query]) => query);
  return sorted.map(({ cold: _cold, ...query }) => {
    const reasons = query.callers.flatMap((caller) => findColdReason(caller) ?? []);
    return reasons.length < query.callers.length ? query : { ...query, cold: [...new Set(reasons)].sort().join(', ') };
  });
}
