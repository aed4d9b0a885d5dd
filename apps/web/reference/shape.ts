import type { Schema } from './openapi.ts';
import { resolveSchema } from './reference-data.ts';
import { formatNumber } from './words.ts';

/** A schema with its references resolved and its parts merged, ready to be shown. */
export interface Shape {
  schema: Schema;
  /** The name of its type, if it has one. */
  name?: string;
  isNullable: boolean;
  /** The items of an array. */
  item?: Shape;
  /** The alternatives of a union. */
  variants: readonly Shape[];
}

const isNull = (schema: Schema): boolean => schema.type === 'null' || schema.const === null;

/** Merges the parts of `allOf` into one schema. The name of a type is kept if only descriptions are added to it. */
function mergeParts(schema: Schema): { schema: Schema; name?: string } {
  if (!schema.allOf) return resolveSchema(schema);
  const { allOf, ...own } = schema;
  const parts = allOf.map(mergeParts);
  const merged = [...parts.map((part) => part.schema), own].reduce((all, part) => ({
    ...all,
    ...part,
    ...((all.properties ?? part.properties) && { properties: { ...all.properties, ...part.properties } }),
    ...((all.required ?? part.required) && { required: [...(all.required ?? []), ...(part.required ?? [])] }),
  }));
  const name = parts.length === 1 && !own.properties ? parts[0]?.name : undefined;
  return name === undefined ? { schema: merged } : { schema: merged, name };
}

/** No array or union is nested deeper; the limit ends types that contain themselves. */
const maxDepth = 8;

/** Reads a schema. Fields of an object are read when they are shown. */
export function toShape(source: Schema, depth = 0): Shape {
  const { schema, name } = mergeParts(source);
  const { anyOf, oneOf } = schema;
  const alternatives = depth > maxDepth ? [] : (anyOf ?? oneOf ?? []);
  const others = alternatives.filter((one) => !isNull(one));
  const hasNull = others.length < alternatives.length || (Array.isArray(schema.type) && schema.type.includes('null'));
  const [only] = others;
  if (only && others.length === 1) {
    const inner = toShape({ ...only, ...(schema.description && { description: schema.description }) }, depth + 1);
    return { ...inner, isNullable: hasNull || inner.isNullable };
  }
  return {
    schema,
    ...(name !== undefined && { name }),
    isNullable: hasNull,
    ...(schema.items && depth <= maxDepth && { item: toShape(schema.items, depth + 1) }),
    variants: others.map((one) => toShape(one, depth + 1)),
  };
}

/** The first type of a schema besides null; empty if it names none. */
export function baseType({ type, enum: values, const: fixed, properties }: Schema): string {
  const named = typeof type === 'string' ? type : (type ?? []).find((one) => one !== 'null');
  if (named !== undefined) return named;
  if (properties) return 'object';
  const sample = fixed ?? values?.[0];
  return sample === undefined ? '' : typeof sample;
}

/** Whether a shape has fields to show: its own, those of its items, or those of its alternatives. */
export const hasFields = ({ schema, item, variants }: Shape): boolean =>
  schema.properties !== undefined ||
  (item !== undefined && hasFields(item)) ||
  variants.some(hasFields) ||
  typeof schema.additionalProperties === 'object';

/** The values that a shape may have, if they are listed. */
export const listValues = ({ schema, variants }: Shape): readonly unknown[] => {
  if (schema.enum) return schema.enum;
  if (schema.const !== undefined) return [schema.const];
  const inner = variants.map(listValues);
  return inner.length > 0 && inner.every((values) => values.length > 0) ? inner.flat() : [];
};

function range(min: number | undefined, max: number | undefined, unit: string): string[] {
  const plural = (count: number): string => `${formatNumber(count)}${unit === '' ? '' : ` ${unit}${count === 1 ? '' : 's'}`}`;
  if (min !== undefined && max !== undefined) return [min === max ? `exactly ${plural(max)}` : `${formatNumber(min)} to ${plural(max)}`];
  if (max !== undefined) return [`at most ${plural(max)}`];
  return min === undefined ? [] : [`at least ${plural(min)}`];
}

/** The limits of a schema in words: `1 to 100 characters`. */
export function describeLimits(schema: Schema): string[] {
  return [
    ...range(schema.minLength, schema.maxLength, 'character'),
    ...range(schema.minimum, schema.maximum, ''),
    ...range(schema.minItems, schema.maxItems, 'item'),
    ...(schema.uniqueItems ? ['no item twice'] : []),
    ...(schema.format === 'date-time' ? ['ISO 8601 in UTC'] : schema.format ? [`format ${schema.format}`] : []),
  ];
}
