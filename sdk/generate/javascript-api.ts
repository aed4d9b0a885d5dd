import type { Contract, Operation } from './contract.ts';
import { toComment, toType } from './javascript-types.ts';

const toPascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
const toCamel = (name: string): string =>
  (/[a-z]/.test(name) ? name : name.toLowerCase()).replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

const queryName = ({ id }: Operation): string => `${toPascal(id)}Query`;

function toReply({ replies }: Operation): string {
  const types = [...new Set(replies.map((one) => (one ? toType(one) : 'undefined')))];
  return types.length === 1 && types[0] === 'undefined' ? 'void' : types.join(' | ');
}

function writeQuery(operation: Operation): string {
  const fields = operation.query.map(
    ({ name, required, schema, description }) =>
      `${toComment(description ?? schema.description, '  ')}  ${name}${required ? '' : '?'}: ${toType(schema, '  ')};\n`,
  );
  return `/** The query of \`${operation.id}\`. */\nexport interface ${queryName(operation)} {\n${fields.join('')}}\n`;
}

function writeMethod(operation: Operation): string {
  const { id, method, path, text, pathParameters, query, body, creates, needsToken } = operation;
  const parameters = pathParameters.map((name) => `${toCamel(name)}: string`);
  const request = [`method: '${method}'`, `route: '${path}'`];
  if (pathParameters.length > 0) request.push(`path: [${pathParameters.map(toCamel).join(', ')}]`);
  if (body?.kind === 'image') {
    parameters.push('image: Blob');
    request.push('image');
  } else if (body) {
    const type = toType(body.schema);
    parameters.push(body.required ? `body: ${type}` : `body: ${type} = {}`);
    request.push('body');
  } else if (query.length > 0) {
    const isNeeded = query.some(({ required }) => required);
    parameters.push(`query: ${queryName(operation)}${isNeeded ? '' : ' = {}'}`);
    request.push('query');
  }
  if (creates) request.push('creates: true');
  if (!needsToken) request.push('needsToken: false');
  const takesFiles = body?.kind === 'json' && body.takesFiles;
  parameters.push(`options?: ${takesFiles ? 'UploadOptions' : 'RequestOptions'}`);
  const reply = toReply(operation);
  return `${toComment(`${text}\n\n\`${method} ${path}\``, '  ')}  ${id}(${parameters.join(', ')}): Promise<${reply}> {
    return this.#send<${reply}>({ ${request.join(', ')} }, options);
  }
`;
}

/** The names of `known` that `source` uses. */
const usedNames = (source: string, known: Iterable<string>): string[] =>
  [...known].filter((name) => new RegExp(`\\b${name}\\b`).test(source)).sort();

/** The source of `api.ts`: one method for each operation. */
export function writeApi({ operations, schemas }: Contract): string {
  const queries = operations.filter(({ query, body }) => query.length > 0 && !body).map(writeQuery);
  const methods = operations.map(writeMethod);
  const code = `${queries.join('\n')}${methods.join('\n')}`.replace(/\/\*\*.*?\*\//gs, '');
  return `import type { RequestOptions, Send, UploadOptions } from '../rest.ts';
import type {
${usedNames(code, schemas.keys())
  .map((name) => `  ${name},`)
  .join('\n')}
} from './types.ts';

${queries.join('\n')}
/** The operations of the HTTP API that bots may call. */
export class Api {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

${methods.join('\n')}}
`;
}

/** The source of `events.ts`: the payload of each event, by the name of its listeners. */
export function writeEvents({ events, schemas }: Contract): string {
  const fields = events.map(({ name, payload, optIn }) => {
    const note = optIn ? '' : ' Every bot receives it.';
    return `  /** \`${name}\`.${note} */\n  ${toCamel(name)}: ${toType(payload, '  ')};\n`;
  });
  const names = events.map(({ name }) => `  ${toCamel(name)}: '${name}',\n`);
  const optIn = events.filter((one) => one.optIn).map(({ name }) => `  '${name}',\n`);
  return `import type {
${usedNames(fields.join('').replace(/\/\*\*.*?\*\//gs, ''), schemas.keys())
  .map((name) => `  ${name},`)
  .join('\n')}
} from './types.ts';

/** The payloads of the gateway's events, by the name of their listeners. */
export interface GatewayEvents {
${fields.join('')}}

/** The name of each event in the protocol, by the name of its listeners. */
export const eventNames = {
${names.join('')}} as const satisfies Record<keyof GatewayEvents, string>;

/** The events that a bot has to ask for. */
export const optInEvents: readonly string[] = [
${optIn.join('')}];
`;
}

/** The source of `permissions.ts`. */
export function writePermissions({ permissionBits }: Contract): string {
  const bits = Object.entries(permissionBits).map(([name, bit]) => `  ${/\W/.test(name) ? `'${name}'` : name}: ${bit},\n`);
  return `/** The permission bits by name. */\nexport const permissionBits = {\n${bits.join('')}} as const;\n`;
}
