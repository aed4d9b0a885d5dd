import { schemas } from '../../lib/store/mongo/database.ts';
import type { Explained } from './explain.ts';
import { listedValues } from './instantiate.ts';
import { caps, exceptions } from './notes.ts';
import { type Document, describeShape, type Shape } from './shape.ts';

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

/** Whether the number of documents that match is bounded: by a limit, a unique index, or a cap of the product. */
function isBounded(shape: Shape): boolean {
  if (shape.limit) return true;
  const equal = equalFields(shape);
  const isUnique = indexesOf(shape.collection).some((one) => one.isUnique && one.fields.every((field) => equal.includes(field)));
  return (
    isUnique ||
    caps.some(({ collection, by }) => collection === shape.collection && by.every((field) => Object.hasOwn(shape.filter, field)))
  );
}

/** Documents that a query may read beyond two for each one that it returns. */
const spareDocuments = 10;
const sortedMax = 1_000;

/** The rules that a query breaks, given how the database ran it (docs/scaling.md#queries). */
export function findBrokenRules(shape: Shape, { index, examined, returned, sorted, hasCollectionScan }: Explained): string[] {
  const text = describeShape(shape);
  const isExcepted = (one: string): boolean => (one.endsWith('*') ? text.startsWith(one.slice(0, -1)) : text === one);
  if (Object.values(exceptions).flat().some(isExcepted)) return [];
  const allowed = 2 * returned + spareDocuments + listedValues;
  return [
    ...(hasCollectionScan || index === '' ? ['reads the whole collection'] : []),
    ...(examined > allowed ? [`reads ${examined} documents to return ${returned}`] : []),
    ...(sorted > sortedMax ? [`sorts ${sorted} documents in memory`] : []),
    ...(isBounded(shape) ? [] : ['has no bound']),
  ].map((what) => `${text} ${what}`);
}
