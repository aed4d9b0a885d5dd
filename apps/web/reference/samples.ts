import { exampleOf, givenExample } from './example.ts';
import type { Parameter } from './openapi.ts';
import type { Operation } from './reference-data.ts';

/** A language of the code samples. */
export type Language = 'curl' | 'javascript' | 'python';
/** The languages with their names, in the order in which they are offered. */
export const languages: Readonly<Record<Language, string>> = { curl: 'curl', javascript: 'JavaScript', python: 'Python' };

/** The media type of a body with files. */
export const formType = 'multipart/form-data';

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parameters of a kind that a caller fills in. */
export const listParameters = ({ parameters }: Operation, kind: Parameter['in']): Parameter[] =>
  parameters.filter((one) => one.in === kind);

/** An example of a parameter's value. */
export const parameterExample = (parameter: Parameter): unknown =>
  givenExample(parameter) ?? exampleOf({ ...parameter.schema, type: parameter.schema.type ?? 'string' }, { name: parameter.name });

/** The example of the JSON body; undefined if the operation takes none. */
export function bodyExample({ object }: Operation): unknown {
  const json = object.requestBody?.content['application/json'];
  if (!json) return undefined;
  const given = givenExample(json);
  if (given !== undefined) return given;
  const example = exampleOf(json.schema ?? {});
  // A body that needs no field is shown with its first one, so that the sample does something.
  if (!isObject(example) || Object.keys(example).length > 0) return example;
  const first = Object.entries(exampleOf(json.schema ?? {}, { isFull: true }) ?? {})[0];
  return first ? { [first[0]]: first[1] } : {};
}

/** The media type of an operation whose body is a file instead of JSON; undefined for all others. */
export const rawBodyType = ({ object: { requestBody } }: Operation): string | undefined =>
  requestBody && !requestBody.content['application/json'] ? Object.keys(requestBody.content).find((type) => type !== formType) : undefined;

/** Whether an operation takes files: beside its JSON body, or instead of it. */
export const takesFiles = (operation: Operation): boolean =>
  operation.object.requestBody?.content[formType] !== undefined || rawBodyType(operation) !== undefined;

/** The path with the example of each parameter in it, and the query that the operation requires. */
function examplePath(operation: Operation): string {
  const path = listParameters(operation, 'path').reduce(
    (all, parameter) => all.replace(`{${parameter.name}}`, encodeURIComponent(String(parameterExample(parameter)))),
    operation.path,
  );
  const required = listParameters(operation, 'query').filter((one) => one.required);
  const query = new URLSearchParams(required.map((one) => [one.name, String(parameterExample(one))]));
  return required.length > 0 ? `${path}?${query}` : path;
}

const quoteShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function toCurl(operation: Operation): string {
  const credential = { account: 'Bot $PARLANCE_TOKEN', person: 'Bearer $SESSION_TOKEN', none: null }[operation.callers];
  const body = bodyExample(operation);
  const rawType = rawBodyType(operation);
  const write = (...content: string[]): string =>
    [
      `curl ${operation.method === 'GET' ? '' : `-X ${operation.method} `}"$PARLANCE_URL${examplePath(operation)}"`,
      ...(credential === null ? [] : [`-H "Authorization: ${credential}"`]),
      ...content,
    ].join(' \\\n  ');
  if (rawType !== undefined) return write(`-H "Content-Type: ${rawType}"`, '--data-binary @file');
  if (body === undefined) return write();
  const json = JSON.stringify(body);
  const sample = write('-H "Content-Type: application/json"', `-d ${quoteShell(json)}`);
  if (!takesFiles(operation)) return sample;
  return `${sample}\n\n# With a file:\n${write(`-F ${quoteShell(`payload_json=${json}`)}`, '-F files=@image.png')}`;
}

/** A value as a literal. `toKey` writes the name of a field, `words` the values that the languages spell differently. */
function toLiteral(value: unknown, language: 'javascript' | 'python', indent = ''): string {
  if (language === 'python' && (value === null || typeof value === 'boolean'))
    return { null: 'None', true: 'True', false: 'False' }[`${value}`];
  if (typeof value === 'string' && language === 'javascript') return quoteJavaScript(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((one) => toLiteral(one, language, inner))
    : Object.entries(value).map(([key, one]) => `${toKey(key, language)}: ${toLiteral(one, language, inner)}`);
  const [start, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const space = language === 'javascript' && start === '{' && parts.length > 0 ? ' ' : '';
  const line = `${start}${space}${parts.join(', ')}${space}${end}`;
  return line.length + indent.length <= 60 ? line : `${start}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${end}`;
}

const quoteJavaScript = (text: string): string => `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
const toKey = (key: string, language: 'javascript' | 'python'): string =>
  language === 'javascript' && /^[A-Za-z_$][\w$]*$/.test(key) ? key : language === 'python' ? JSON.stringify(key) : quoteJavaScript(key);

/** A name in snake_case, as the Python kit has it. */
export const toSnakeCase = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();

/** The arguments of the kits: the values in the path, then the fields of the body or the query. */
function listArguments(operation: Operation): { path: unknown[]; fields: unknown } {
  const required = listParameters(operation, 'query').filter((one) => one.required);
  const query = Object.fromEntries(required.map((one) => [one.name, parameterExample(one)]));
  const body = bodyExample(operation);
  return { path: listParameters(operation, 'path').map(parameterExample), fields: body ?? (required.length > 0 ? query : undefined) };
}

function toJavaScript(operation: Operation): string {
  const { path, fields } = listArguments(operation);
  const list = [...path, ...(fields === undefined ? [] : [fields])].map((one) => toLiteral(one, 'javascript'));
  if (rawBodyType(operation) !== undefined) list.push("new Blob([await readFile('image.png')], { type: 'image/png' })");
  return `await bot.api.${operation.id}(${list.join(', ')});`;
}

function toPython(operation: Operation): string {
  const { path, fields } = listArguments(operation);
  const list = path.map((one) => toLiteral(one, 'python'));
  if (isObject(fields)) list.push(...Object.entries(fields).map(([key, one]) => `${toSnakeCase(key)}=${toLiteral(one, 'python')}`));
  else if (fields !== undefined) list.push(toLiteral(fields, 'python'));
  if (rawBodyType(operation) !== undefined) list.push('Path("image.png").read_bytes()');
  return `await bot.api.${toSnakeCase(operation.id)}(${list.join(', ')})`;
}

/** The paths for logging in, for code hosts and of the documents: anyone may call them, but the kits have no methods for them (sdk/generate/contract.ts). */
const isForOthers = (path: string): boolean => /^\/api\/auth\/(?!me$)|\/codehost$|api\.json$/.test(path);

/** The code that sends an operation; null if the kits have no method for it, because it is not for bots. */
export function toSample(operation: Operation, language: Language): string | null {
  if (language === 'curl') return toCurl(operation);
  if (operation.callers === 'person' || isForOthers(operation.path)) return null;
  return language === 'javascript' ? toJavaScript(operation) : toPython(operation);
}
