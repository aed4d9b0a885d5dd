import type { MediaType, Parameter, Schema } from './openapi.ts';
import { baseType, listValues, toShape } from './shape.ts';

const sampleId = '1234567890123456789';
const maxDepth = 3;

/** The first example of a media type or parameter, if the document has one. */
export function givenExample({ example, examples }: Pick<MediaType | Parameter, 'example' | 'examples'>): unknown {
  return example ?? Object.values(examples ?? {})[0]?.value;
}

/** An example of a text, chosen by the name of its field. */
function sampleText(name: string, { format, pattern, minLength = 0 }: Schema): string {
  if (format === 'date-time') return '2026-01-31T12:00:00.000Z';
  if (pattern?.includes('[0-9]{19}') || /(?:^id|Id)$/.test(name)) return sampleId;
  if (/emoji/i.test(name)) return '👍';
  if (/token/i.test(name)) return 'token';
  if (/url/i.test(name)) return 'https://example.com/';
  const text = { content: 'Hi', name: 'example', description: 'An example.', username: 'ada', code: 'abc123' }[name] ?? 'text';
  return text.padEnd(minLength, 'x');
}

/**
 * An example of a value: that of the schema, or one that is made from its rules. Objects have their required fields, and with `isFull` all of them; `name` is
 * the name of the field.
 */
export function exampleOf(source: Schema, { name = '', isFull = false, depth = 0 } = {}): unknown {
  const shape = toShape(source);
  const { schema, item, variants, isNullable } = shape;
  const [given] = schema.examples ?? [];
  if (given !== undefined) return given;
  const [value] = listValues(shape);
  if (value !== undefined) return value;
  if (schema.default !== undefined && !isFull) return schema.default;
  const next = { isFull, depth: depth + 1 };
  if (item) return depth >= maxDepth ? [] : [exampleOf(schema.items ?? {}, { ...next, name: name.replace(/s$/, '') })];
  if (variants[0]) return depth >= maxDepth ? null : exampleOf(variants[0].schema, { ...next, name });
  switch (baseType(schema)) {
    case 'string':
      return sampleText(name, schema);
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return false;
    case 'object': {
      if (depth > maxDepth) return isNullable ? null : {};
      const fields = Object.entries(schema.properties ?? {}).filter(([field]) => isFull || schema.required?.includes(field));
      return Object.fromEntries(fields.map(([field, inner]) => [field, exampleOf(inner, { ...next, name: field })]));
    }
    default:
      return null;
  }
}
