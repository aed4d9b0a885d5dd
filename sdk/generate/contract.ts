import { renderOpenApi } from '../../apps/api/documents/openapi.ts';
import { createSchemaWriter } from '../../apps/api/documents/openapi-schemas.ts';
import { routes } from '../../apps/api/routes/index.ts';
import { catalogue } from '../../lib/base/errors.ts';
import { permissionBits } from '../../lib/base/permissions.ts';
import { botEvents, type EventName, events, optInEvents } from '../../lib/contract/events.ts';

/** A JSON Schema of the document, as far as the kits read it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  description?: string;
}

/** A query parameter of an operation. */
export interface QueryParameter {
  name: string;
  required: boolean;
  schema: Schema;
  description?: string;
}

/** An operation that bots may call. */
export interface Operation {
  id: string;
  method: string;
  path: string;
  /** What it does, for a doc comment. */
  text: string;
  /** The parameters of the path, in its order. */
  pathParameters: string[];
  query: QueryParameter[];
  /** `image`: the raw bytes of one image. `takesFiles`: the body may be sent as `multipart/form-data` with files. */
  body: { kind: 'json'; schema: Schema; required: boolean; takesFiles: boolean } | { kind: 'image' } | null;
  /** The bodies of successful replies; null stands for an empty one. */
  replies: (Schema | null)[];
  /** Whether it takes an Idempotency-Key, so that a repeated request creates nothing twice. */
  creates: boolean;
  /** Whether it needs the bot's token. Otherwise its path is the credential, or it needs none. */
  needsToken: boolean;
}

/** A gateway event that bots can receive. */
export interface Event {
  name: EventName;
  payload: Schema;
  /** Whether a bot has to ask for it. */
  optIn: boolean;
}

/** What the kits are generated from: what bots may call and receive. */
export interface Contract {
  operations: Operation[];
  /** The named schemas that the operations and events use, by name. */
  schemas: Map<string, Schema>;
  events: Event[];
  permissionBits: Record<string, number>;
  /** Each error code with its text. */
  errors: { code: string; text: string }[];
}

interface OperationObject {
  operationId: string;
  summary?: string;
  description?: string;
  security?: Record<string, unknown>[];
  parameters?: ({ $ref: string } | { name: string; in: string; required?: boolean; schema: Schema; description?: string })[];
  requestBody?: { required?: boolean; content: Record<string, { schema?: Schema }> };
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

/** Paths that a bot has no use for: accounts of people, the documents, and deliveries of code hosts. */
const isForOthers = (path: string): boolean => /^\/api\/auth\/(?!me$)|\/codehost$|api\.json$/.test(path);

function readBody({ requestBody }: OperationObject): Operation['body'] {
  if (!requestBody) return null;
  const schema = requestBody.content['application/json']?.schema;
  if (!schema) return { kind: 'image' };
  return { kind: 'json', schema, required: requestBody.required !== false, takesFiles: 'multipart/form-data' in requestBody.content };
}

function readOperation(method: string, path: string, operation: OperationObject): Operation | null {
  const schemes = (operation.security ?? []).flatMap((one) => Object.keys(one));
  const needsToken = schemes.includes('Bot');
  if (isForOthers(path) || (!needsToken && schemes.some((one) => one === 'Bearer' || one === 'Cookie'))) return null;
  const parameters = operation.parameters ?? [];
  const query = parameters.flatMap((one) =>
    'name' in one && one.in === 'query'
      ? [
          {
            ...(one.description ? { description: one.description } : {}),
            name: one.name,
            required: one.required === true,
            schema: one.schema,
          },
        ]
      : [],
  );
  const replies = Object.entries(operation.responses).flatMap(([status, reply]) =>
    status.startsWith('2') ? [reply.content?.['application/json']?.schema ?? null] : [],
  );
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    text: operation.description ?? operation.summary ?? '',
    pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string),
    query,
    body: readBody(operation),
    replies,
    creates: parameters.some((one) => '$ref' in one && one.$ref.endsWith('/IdempotencyKey')),
    needsToken,
  };
}

/** The name of the schema that a reference names. */
export const nameOfRef = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

/** Adds the names of all schemas that `value` refers to, at any depth, to `found`. */
function collectNames(value: unknown, all: Record<string, Schema>, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  const { $ref } = value as Schema;
  if (typeof $ref === 'string' && !found.has(nameOfRef($ref))) {
    found.add(nameOfRef($ref));
    collectNames(all[nameOfRef($ref)], all, found);
  }
  for (const inner of Object.values(value)) collectNames(inner, all, found);
}

/** Reads the contract from the OpenAPI document and the registry of events. */
export function readContract(): Contract {
  const document = JSON.parse(JSON.stringify(renderOpenApi(routes, 'http://localhost:8080'))) as {
    paths: Record<string, Record<string, OperationObject>>;
    components: { schemas: Record<string, Schema> };
  };
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => readOperation(method, path, operation) ?? []),
  );
  const writer = createSchemaWriter();
  const payloads = ([...botEvents, ...optInEvents] as EventName[]).map((name) => ({
    name,
    payload: writer.write(events[name].data) as Schema,
    optIn: !botEvents.includes(name),
  }));
  const all = { ...document.components.schemas, ...(writer.listNamed() as Record<string, Schema>) };
  const found = new Set<string>();
  collectNames([operations, payloads], all, found);
  return {
    operations,
    schemas: new Map([...found].sort().map((name) => [name, all[name] as Schema])),
    events: payloads,
    permissionBits,
    errors: Object.entries(catalogue).map(([code, { text }]) => ({ code, text })),
  };
}
