import { mongo } from 'mongoose';
import { schemas } from '../../lib/store/mongo/database.ts';

/** A document of the database driver. */
export type Document = mongo.BSON.Document;

/** What decides how the database runs a query: everything except the values. */
export interface Shape {
  collection: string;
  /** The filter with placeholders as values. */
  filter: Document;
  sort?: Record<string, number>;
  hint?: string;
  /** `one`: it reads or changes one document at most. `some`: it has a limit. Absent: as many as match. */
  limit?: 'one' | 'some';
  /** The stages of an aggregation that follow its `$match`, `$sort` and `$limit`. */
  stages?: string[];
}

/** The part of a command that says which documents it needs. */
export interface Query extends Omit<Shape, 'limit' | 'hint'> {
  hint?: unknown;
  limit?: number | undefined;
}

/** The placeholder of a value, by its type. */
function placeholderOf(value: unknown): string {
  if (typeof value !== 'object') return `<${typeof value}>`;
  if (value instanceof Date) return '<date>';
  if (Array.isArray(value)) return '<list>';
  return value instanceof RegExp ? '<pattern>' : '<value>';
}

const isPlain = (value: unknown): value is Document => value !== null && typeof value === 'object' && value.constructor === Object;
/** Operators with a list of conditions. Equal conditions count once. */
const conditionLists = ['$or', '$and', '$nor'];
/** Operators with a list of values, which is as good as one value. */
const valueLists = ['$in', '$nin', '$all'];

/** For each collection the fields whose values decide which partial index a query can use, with these values. */
const indexedValues = new Map(
  Object.values(schemas).map((schema) => {
    const conditions = schema.indexes().map(([, options]) => options?.partialFilterExpression ?? {});
    const fields = conditions.flatMap((one) => Object.entries(one).filter(([, value]) => !isPlain(value)));
    return [schema.get('collection'), new Map<string, unknown>(fields)];
  }),
);

const uniqueOf = <T>(values: readonly T[]): T[] => [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
/** Compares values by their JSON. */
const byText = (one: unknown, other: unknown): number => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
const byKey = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number => (one < other ? -1 : 1);

/** An expression of `$expr` without its values: references to fields and the names of operators stay. */
function toExpressionShape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toExpressionShape);
  if (typeof value === 'string' && value.startsWith('$')) return value;
  if (!isPlain(value)) return placeholderOf(value);
  const toValueShape = (key: string, inner: unknown): unknown => {
    if (key === 'as') return inner;
    return key === '$literal' ? placeholderOf(inner) : toExpressionShape(inner);
  };
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toValueShape(key, inner)]));
}

function toConditionShape(field: string, value: unknown, ofCollection: ReadonlyMap<string, unknown>): unknown {
  if (value === null || value === 0 || typeof value === 'boolean' || ofCollection.get(field) === value) return value;
  if (!isPlain(value)) return placeholderOf(value);
  const operators = Object.entries(value).map(([operator, operand]): [string, unknown] => {
    if (operator === '$exists') return [operator, operand];
    if (operator === '$elemMatch') return [operator, toFilterShape(operand as Document, ofCollection)];
    if (valueLists.includes(operator)) {
      const values = (operand as unknown[]).map((one) => toConditionShape(field, one, ofCollection));
      return [operator, values.length === 0 ? ['<string>'] : uniqueOf(values).toSorted(byText)];
    }
    return [operator, toConditionShape(field, operand, ofCollection)];
  });
  return Object.fromEntries(operators.sort(byKey));
}

/** A path into a list without the position, which depends on what the list holds: all have that of the first element. */
const toFirstElement = (path: string): string => path.replaceAll(/\.\d+\./g, '.0.');

/** A filter without its values, its fields in the order of their names. */
function toFilterShape(filter: Document, ofCollection: ReadonlyMap<string, unknown>): Document {
  const conditions = Object.entries(filter).map(([field, value]): [string, unknown] => {
    if (conditionLists.includes(field)) {
      const shapes = (value as Document[]).map((one) => toFilterShape(one, ofCollection));
      return [field, uniqueOf(shapes).toSorted(byText)];
    }
    if (field === '$expr') return [field, toExpressionShape(value)];
    return [toFirstElement(field), toConditionShape(field, value, ofCollection)];
  });
  return Object.fromEntries(conditions.sort(byKey));
}

/** The largest limit that counts as one: no batch or page of the product is larger. */
const limitMax = 2_000;

/** The shape of a query. */
export function toShape({ collection, filter, sort, hint, limit, stages }: Query): Shape {
  return {
    collection,
    filter: toFilterShape(filter, indexedValues.get(collection) ?? new Map<string, unknown>()),
    ...(sort && Object.keys(sort).length > 0 && { sort }),
    ...(hint !== undefined && { hint: typeof hint === 'string' ? hint : JSON.stringify(hint) }),
    ...(limit && limit <= limitMax && { limit: limit === 1 ? 'one' : 'some' }),
    ...(stages && stages.length > 0 && { stages }),
  };
}

/** The text by which two shapes are compared. */
export const toKey = ({ collection, filter, sort, hint, limit, stages }: Shape): string =>
  JSON.stringify([collection, filter, sort, hint, limit, stages]);

/** A shape as a person reads it: `messages { channelId, _id: { $lt } } sort { _id: -1 } limit`. */
export function describeShape({ collection, filter, sort, hint, limit, stages }: Shape): string {
  const options = [sort && `sort ${print(sort)}`, hint && `hint ${hint}`, limit && `limit ${limit}`, stages?.join(' ')];
  return [collection, printFilter(filter), ...options.filter(Boolean)].join(' ');
}

/** A value of JSON as a person reads it. */
export const print = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll('"', '')
    .replaceAll(/([:,{])/g, '$1 ')
    .replaceAll('}', ' }');

/** A filter as a person reads it: a field alone is compared by equality. */
export function printFilter(filter: Document): string {
  return print(filter)
    .replaceAll(/: \[? ?<\w+>\]?/g, '')
    .replaceAll('{  }', '{}');
}
