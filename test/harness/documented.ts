import { renderOpenApi } from '../../apps/api/documents/openapi.ts';
import { routes } from '../../apps/api/routes/index.ts';
import { closeObjects, createValidators, type Json, listFaults } from './document-validators.ts';

interface Content {
  'application/json'?: Json;
}
interface Response {
  $ref?: string;
  headers?: Record<string, { $ref: string }>;
  content?: Content;
}
interface Operation {
  operationId: string;
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, Response>;
}

/** A request that a test has sent, and its answer. Bodies are texts. */
export interface Exchange {
  method: string;
  /** With its query. */
  path: string;
  body: string | undefined;
  contentType: string | undefined;
  status: number;
  headers: Headers;
  answer: string;
}

const document = JSON.parse(JSON.stringify(renderOpenApi(routes, 'https://chat.test'))) as Json & {
  paths: Record<string, Record<string, Operation>>;
};

const resolve = <T>(pointer: string): T =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => (at as Json)[key.replaceAll('~1', '/').replaceAll('~0', '~')], document) as T;

const forRequests = createValidators(document);
const forAnswers = createValidators(closeObjects(document));

const patterns = Object.keys(document.paths)
  .sort((a, b) => a.split('{').length - b.split('{').length) // a path with fewer parameters matches first, as in the router
  .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`) }));

const toPointer = (...parts: (string | number)[]): string =>
  ['#', ...parts.map((part) => String(part).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function listAnswerFaults(operation: Operation, pointer: string, { status, headers, answer }: Exchange): string[] {
  const declared = operation.responses[status];
  if (!declared && status < 500) return [`status ${status} is not declared: ${answer}`];
  const reference = declared ? declared.$ref : operation.responses.default?.$ref;
  const at = reference ?? `${pointer}/responses/${status}`;
  const response = resolve<Response>(at);
  const missing = Object.entries(response.headers ?? {})
    .filter(([name, { $ref }]) => resolve<{ required?: boolean }>($ref).required && !headers.has(name))
    .map(([name]) => `the header ${name} is missing`);
  if (response.content?.['application/json'])
    return [...missing, ...listFaults(forAnswers(`${at}/content/application~1json/schema`), parse(answer))];
  return answer !== '' && !response.content ? [...missing, `has an undeclared body: ${answer}`] : missing;
}

function listRequestFaults(operation: Operation, pointer: string, { status, body, contentType }: Exchange): string[] {
  if (status >= 300 || body === undefined || !contentType?.startsWith('application/json')) return [];
  if (!operation.requestBody) return [];
  return listFaults(forRequests(`${pointer}/requestBody/content/application~1json/schema`), parse(body));
}

/**
 * Throws if a request or its answer is not as the OpenAPI document says: an undeclared status, field or body, a body that does not fit its schema, a missing
 * header. Paths and methods that the document does not have are not checked.
 */
export function requireDocumented(exchange: Exchange): void {
  const method = exchange.method.toLowerCase();
  const pathname = new URL(exchange.path, 'http://localhost').pathname.replace('/%40me', '/@me');
  const found = patterns.find(({ path, pattern }) => document.paths[path]?.[method] && pattern.test(pathname));
  if (!found) return;
  const operation = document.paths[found.path]?.[method] as Operation;
  const pointer = toPointer('paths', found.path, method);
  const faults = [
    ...listRequestFaults(operation, pointer, exchange).map((fault) => `request: ${fault}`),
    ...listAnswerFaults(operation, pointer, exchange).map((fault) => `answer: ${fault}`),
  ];
  if (faults.length > 0)
    throw new Error(
      `${operation.operationId} (${exchange.status}) is not as the OpenAPI document says:\n${faults.join('\n')}\n${exchange.answer.slice(0, 2000)}`,
    );
}
