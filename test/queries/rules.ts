import { schemas } from '../../lib/store/mongo/database.ts';
import type { Explained } from './explain.ts';
import { listedValues } from './instantiate.ts';
import { caps, type Rule } from './notes.ts';
import type { Document, Shape } from './shape.ts';

/** An index as a schema describes it. */
export interface Index {
  name: string;
  fields: string[];
  isUnique: boolean;
}

const schemaOf = (collection: string) => Object.values(schemas).find((one) => one.get('collection') === collection);

/** The indexes of a collection. */
export function indexesOf(collection: string): Index[] {
  const declared = (schemaOf(collection)?.indexes() ?? []).map(([keys, options]) => ({
    name: options?.name ?? Object.entries(keys).flat().join('_'),
    fields: Object.keys(keys),
    isUnique: options?.unique === true,
  }));
  return [{ name: '_id_', fields: ['_id'], isUnique: true }, ...declared];
}

/** The field that decides on which shard a document is; undefined for collections that are not sharded. */
export const shardKeyOf = (collection: string): string | undefined => Object.keys(schemaOf(collection)?.get('shardKey') ?? {})[0];

const isOperators = (value: unknown): value is Document =>
  value !== null && typeof value === 'object' && Object.keys(value).some((key) => key.startsWith('$'));

/** The fields that a filter compares by equality, or with the values of a list. */
export const equalFields = ({ filter }: Shape): string[] =>
  Object.entries(filter).flatMap(([field, condition]) =>
    !field.startsWith('$') && (!isOperators(condition) || Object.hasOwn(condition, '$in')) ? [field] : [],
  );

const fieldsOf = (collection: string, name: string): readonly string[] =>
  indexesOf(collection).find((one) => one.name === name)?.fields ?? [];

/** How many documents a unique index finds for the values of the filter; null if no unique index does. */
function countIdentified(shape: Shape): number | null {
  const equal = equalFields(shape);
  const isUnique = indexesOf(shape.collection).some((one) => one.isUnique && one.fields.every((field) => equal.includes(field)));
  if (!isUnique) return null;
  return equal.some((field) => isOperators(shape.filter[field])) ? listedValues : 1;
}

/** Whether a cap of the product bounds the number of documents that match. */
const isCapped = ({ collection, filter }: Shape, equal: readonly string[]): boolean =>
  caps.some(
    (cap) =>
      cap.collection === collection &&
      cap.by.every((field) => equal.includes(field)) &&
      (cap.within ?? []).every((field) => Object.hasOwn(filter, field)),
  );

const sortedMax = 1_000;

/** The rules that a query breaks, each with what breaks it, given how the database ran it (docs/scaling.md#queries). */
export function findBrokenRules(shape: Shape, { index, examined, returned, sorted, hasCollectionScan }: Explained): Map<Rule, string> {
  const equal = equalFields(shape);
  const identified = countIdentified(shape);
  const indexes = index.split(' + ');
  const isCombined = indexes.length > 1 && !indexes.every((name) => equal.includes(fieldsOf(shape.collection, name)[0] ?? ''));
  const checks: readonly (readonly [rule: Rule, isBroken: boolean, what: string])[] = [
    ['index', hasCollectionScan || index === '', 'reads the whole collection'],
    ['index', isCombined, `combines the indexes ${index}`],
    ['examined', examined > Math.max(2 * returned, identified ?? 0), `reads ${examined} documents to return ${returned}`],
    ['returned', returned === 0 && identified === null, 'returns nothing'],
    ['sorted', sorted > sortedMax, `sorts ${sorted} documents in memory`],
    ['bound', !shape.limit && identified === null && !isCapped(shape, equal), 'has no bound'],
  ];
  return new Map(checks.flatMap(([rule, isBroken, what]) => (isBroken ? [[rule, what] as const] : [])));
}
