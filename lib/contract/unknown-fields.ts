import type { TSchema } from 'typebox';
import { toWellFormed, truncate } from '../base/text.ts';
import { isValid } from './check.ts';

/** The names of fields or query parameters that a schema does not have: the first ones as header-safe text, and how many there are in all. */
export interface UnknownNames {
  listed: string[];
  count: number;
}

/** How many unknown names a response lists, and how many bytes they have together. Headers of more than some kilobytes are refused by proxies. */
const listedMax = 10;
const listedBytesMax = 600;
/** How many characters of a name a response shows. */
const nameCharsMax = 40;

/** The keywords of a schema that say which fields a value has. */
interface FieldKeywords {
  type?: string | string[];
  properties?: Record<string, TSchema>;
  patternProperties?: unknown;
  additionalProperties?: unknown;
  items?: TSchema;
  maxItems?: number;
  anyOf?: TSchema[];
  oneOf?: TSchema[];
  allOf?: TSchema[];
}

/** Whether `schema` allows values of this JSON type. */
function allowsType(schema: TSchema, type: 'array' | 'object'): boolean {
  const { type: allowed } = schema as FieldKeywords;
  return allowed === undefined || (Array.isArray(allowed) ? allowed.includes(type) : allowed === type);
}

/** The alternatives that `value` matches. If it matches none, all that allow its type, so that a field with an invalid value makes no other field unknown. */
function chooseBranches(branches: readonly TSchema[], value: object): readonly TSchema[] {
  const possible = branches.filter((branch) => allowsType(branch, Array.isArray(value) ? 'array' : 'object'));
  if (possible.length < 2) return possible;
  const matching = possible.filter((branch) => isValid(branch, value));
  return matching.length > 0 ? matching : possible;
}

/** The schemas that describe the fields of `value`: `schema` itself, the parts of `allOf`, and the alternatives of `anyOf` and `oneOf` that fit. */
function expandSchema(schema: TSchema, value: object): FieldKeywords[] {
  const { allOf, anyOf, oneOf, properties } = schema as FieldKeywords;
  if (!(allOf || anyOf || oneOf)) return [schema];
  const parts = [...(allOf ?? []), ...[anyOf, oneOf].flatMap((branches) => (branches ? chooseBranches(branches, value) : []))];
  return [...(properties ? [schema] : []), ...parts.flatMap((part) => expandSchema(part, value))];
}

/** Whether every field of an object is known, because the schema does not list its fields. */
const isOpen = ({ properties, patternProperties, additionalProperties }: FieldKeywords): boolean =>
  properties === undefined || patternProperties !== undefined || Boolean(additionalProperties);

/** One part of a JSON pointer (RFC 6901). */
const toPointerPart = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Text for a header. A long name is cut, and everything but letters, digits and `-_.~!*'()` is percent-encoded as UTF-8. */
function encodeName(name: string): string {
  const shown = truncate(name, nameCharsMax);
  return `${encodeURIComponent(toWellFormed(shown))}${shown === name ? '' : '...'}`;
}

/** Counts a name, and lists it if all names before it were listed and there is space. `toText` is not called for a name that is not listed. */
function addName(unknown: UnknownNames, toText: () => string): void {
  const { listed } = unknown;
  if (listed.length === unknown.count++ && listed.length < listedMax) {
    const text = toText();
    if (listed.join('').length + text.length <= listedBytesMax) listed.push(text);
  }
}

/** Adds the unknown fields of `value`. Reads each part of it once, and nothing below an unknown field. */
function collectFields(schemas: readonly TSchema[], value: unknown, path: string, unknown: UnknownNames): void {
  if (value === null || typeof value !== 'object') return;
  const expanded = schemas.flatMap((schema) => expandSchema(schema, value));
  if (Array.isArray(value)) {
    const items = expanded.flatMap((schema) => (schema.items ? [schema.items] : []));
    // A longer list is refused, so the rest of it is not worth the time.
    const most = Math.max(...expanded.map(({ maxItems = value.length }) => maxItems));
    if (items.length > 0)
      for (const [index, item] of value.slice(0, most).entries()) collectFields(items, item, `${path}/${index}`, unknown);
    return;
  }
  if (expanded.length === 0 || expanded.some(isOpen)) return; // any object is valid, or the value has the wrong type
  for (const [name, inner] of Object.entries(value)) {
    const known = expanded.flatMap(({ properties = {} }) => (Object.hasOwn(properties, name) ? [properties[name] as TSchema] : []));
    if (known.length > 0) collectFields(known, inner, `${path}/${name}`, unknown);
    else addName(unknown, () => `${path}/${encodeName(toPointerPart(name))}`);
  }
}

/**
 * Lists the fields of a body that `schema` does not have, at any depth, as JSON pointers (docs/behavior/requests.md#unknown-fields). A field is unknown if no
 * alternative that the value matches has it. The body need not be valid.
 */
export function listUnknownFields(schema: TSchema, body: unknown): UnknownNames {
  const unknown: UnknownNames = { listed: [], count: 0 };
  collectFields([schema], body, '', unknown);
  return unknown;
}

/** Lists the parameters of a query that `schema` does not have. */
export function listUnknownParameters(schema: TSchema | undefined, query: object): UnknownNames {
  const { properties = {} } = (schema ?? {}) as FieldKeywords;
  const unknown: UnknownNames = { listed: [], count: 0 };
  for (const name of Object.keys(query)) if (!Object.hasOwn(properties, name)) addName(unknown, () => encodeName(name));
  return unknown;
}
