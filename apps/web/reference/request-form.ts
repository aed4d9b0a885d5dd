import type { Parameter, Schema } from './openapi.ts';
import type { Operation } from './reference-data.ts';
import { formType, listParameters, rawBodyType } from './samples.ts';
import { baseType, hasFields, listValues, toShape } from './shape.ts';

/** How a value is entered: chosen from a list, as text, as a number, or as JSON. */
export type InputKind = 'choice' | 'text' | 'number' | 'json';

/** A field of the form that sends an operation. */
export interface FormField {
  /** Where the value goes. `whole` is the body as a whole. */
  in: Parameter['in'] | 'body' | 'whole';
  name: string;
  isRequired: boolean;
  kind: InputKind;
  /** The values to choose from, as JSON. */
  choices: readonly string[];
  isLong: boolean;
}

function toField(place: FormField['in'], name: string, schema: Schema, isRequired: boolean): FormField {
  const shape = toShape(schema);
  const values = baseType(shape.schema) === 'boolean' ? [true, false] : listValues(shape);
  const type = baseType(shape.schema);
  const isJson = place === 'whole' || shape.item !== undefined || hasFields(shape) || type === 'object';
  const kind = values.length > 0 ? 'choice' : isJson ? 'json' : type === 'integer' || type === 'number' ? 'number' : 'text';
  const choices = values.map((value) => JSON.stringify(value));
  return { in: place, name, isRequired, kind, choices, isLong: kind === 'json' || (shape.schema.maxLength ?? 0) > 200 };
}

/** The fields of the form of an operation: those of its path and query, the fields of its JSON body (or the body as a whole), and its headers. */
export function listFormFields(operation: Operation): FormField[] {
  const parameters = (kind: Parameter['in']): FormField[] =>
    listParameters(operation, kind).map(({ name, schema, required = false }) => toField(kind, name, schema, required));
  const body = operation.object.requestBody;
  const schema = body?.content['application/json']?.schema;
  const shape = schema && toShape(schema);
  const fields = Object.entries((shape?.variants.length === 0 && shape.schema.properties) || {}).map(([name, inner]) =>
    toField('body', name, inner, shape?.schema.required?.includes(name) ?? false),
  );
  const whole = schema && fields.length === 0 ? [toField('whole', 'Body', schema, body?.required ?? false)] : [];
  return [...parameters('path'), ...parameters('query'), ...fields, ...whole, ...parameters('header')];
}

/** The key of a field in the values of the form. */
export const fieldKey = (field: Pick<FormField, 'in' | 'name'>): string => `${field.in}.${field.name}`;

/** Faults of the entered values by the key of their field. */
export class InvalidForm extends Error {
  readonly faults: Readonly<Record<string, string>>;
  constructor(faults: Readonly<Record<string, string>>) {
    super('Check the highlighted fields.');
    this.faults = faults;
  }
}

function parseValue({ kind }: FormField, text: string): unknown {
  if (kind === 'text') return text;
  if (kind === 'number') {
    const value = Number(text);
    if (Number.isNaN(value)) throw new Error('Enter a number.');
    return value;
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('Enter JSON, with double quotes around texts and names.');
  }
}

/** A part of the path as it is sent. A part that is entered percent-encoded, such as `%F0%9F%91%8D`, is not encoded again. */
function encodePart(text: string): string {
  try {
    return encodeURIComponent(decodeURIComponent(text));
  } catch {
    return encodeURIComponent(text);
  }
}

/** The entered request. */
export interface FormRequest {
  /** The path with its query. */
  url: string;
  headers: Record<string, string>;
  body: string | FormData | File | undefined;
}

/**
 * Builds the request from the entered values by field key, and files. Empty fields are not sent. Throws `InvalidForm` for a missing part of the path and for
 * values that cannot be read.
 */
export function buildRequest(operation: Operation, values: Readonly<Record<string, string>>, files: readonly File[]): FormRequest {
  const faults: Record<string, string> = {};
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  const fields: Record<string, unknown> = {};
  let whole: unknown;
  let url = operation.path;
  for (const field of listFormFields(operation)) {
    const text = values[fieldKey(field)] ?? '';
    if (text === '') {
      if (field.in === 'path') faults[fieldKey(field)] = 'This is a part of the path, so it cannot be empty.';
      continue;
    }
    try {
      const value = parseValue(field, text);
      if (field.in === 'path') url = url.replace(`{${field.name}}`, encodePart(String(value)));
      else if (field.in === 'query') query.set(field.name, String(value));
      else if (field.in === 'header') headers[field.name] = String(value);
      else if (field.in === 'whole') whole = value;
      else fields[field.name] = value;
    } catch (error) {
      faults[fieldKey(field)] = error instanceof Error ? error.message : String(error);
    }
  }
  if (Object.keys(faults).length > 0) throw new InvalidForm(faults);
  const content = operation.object.requestBody?.content;
  const json =
    content?.['application/json'] &&
    (whole ?? (Object.keys(fields).length > 0 || operation.object.requestBody?.required ? fields : undefined));
  const [file] = files;
  const target = query.size > 0 ? `${url}?${query}` : url;
  if (content?.[formType] && file) {
    const form = new FormData();
    form.append('payload_json', new Blob([JSON.stringify(json)], { type: 'application/json' }));
    for (const one of files) form.append('files', one);
    return { url: target, headers, body: form };
  }
  if (rawBodyType(operation) !== undefined) return { url: target, headers, body: file };
  return json === undefined
    ? { url: target, headers, body: undefined }
    : { url: target, headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(json) };
}
