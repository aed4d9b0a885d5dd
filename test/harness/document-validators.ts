import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** An object of JSON. */
export type Json = Record<string, unknown>;

/** Forbids fields that are not described, in every object schema within `value`. Schemas below `allOf` describe only a part of an object. */
export function closeObjects(value: unknown, isPart = false): unknown {
  if (Array.isArray(value)) return value.map((inner) => closeObjects(inner, isPart));
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closeObjects(inner, key === 'allOf')]));
  const isOpen = copy.type === 'object' && copy.properties !== undefined && copy.additionalProperties === undefined;
  return isOpen && !isPart ? { ...copy, additionalProperties: false } : copy;
}

/** Creates a function that returns the validator of the schema at a pointer, for example `#/components/schemas/User`, of a document. Each is compiled once. */
export function createValidators(document: unknown): (pointer: string) => ValidateFunction {
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv, ['date-time']);
  ajv.addSchema({ $id: 'document', ...(document as Json) });
  const compiled = new Map<string, ValidateFunction>();
  return (pointer) => {
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `document${encodeURI(pointer)}` });
    compiled.set(pointer, known);
    return known;
  };
}

/** The faults of a value, or an empty list. */
export function listFaults(validate: ValidateFunction, value: unknown): string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`);
}
