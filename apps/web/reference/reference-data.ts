import { signal } from '@preact/signals';
import { type ApiError, asApiError, call } from '../api/call.ts';
import type { AsyncApi, OpenApi, OperationObject, Parameter, Schema } from './openapi.ts';
import { toTitle } from './words.ts';

/** Who may send a request: bots and people, people only, or everyone (`none`; a credential may be in the path). */
export type Callers = 'account' | 'person' | 'none';

/** An operation of the API, ready to be shown. */
export interface Operation {
  id: string;
  /** The id in words: `Create message`. */
  title: string;
  /** The name of its group, as in the address of its page. */
  tag: string;
  method: string;
  path: string;
  callers: Callers;
  parameters: readonly Parameter[];
  object: OperationObject;
}

/** Operations with one tag, which share a page. */
export interface OperationGroup {
  name: string;
  title: string;
  description: string;
  operations: readonly Operation[];
}

/** What the pages show. */
export interface Reference {
  openapi: OpenApi;
  asyncapi: AsyncApi;
  /** The named types of both documents by name. */
  types: ReadonlyMap<string, Schema>;
  groups: readonly OperationGroup[];
}

/** The loaded documents; null until then. */
export const reference = signal<Reference | null>(null);
/** Why they could not be loaded. */
export const referenceError = signal<ApiError | null>(null);

const methods = ['get', 'post', 'put', 'patch', 'delete'];
const refName = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

function readCallers({ security = [] }: OperationObject): Callers {
  if (security.length === 0) return 'none';
  return security.some((one) => 'Bot' in one) ? 'account' : 'person';
}

/** The tag of operations that the document puts under no tag. */
const untagged = 'other';

function readGroups({ paths, tags = [], components }: OpenApi): OperationGroup[] {
  const byTag = new Map<string, Operation[]>(tags.map(({ name }) => [name, []]));
  for (const [path, item] of Object.entries(paths))
    for (const method of methods) {
      const object = item[method];
      if (!object) continue;
      const [tag = untagged] = object.tags ?? [];
      const parameters = (object.parameters ?? []).flatMap((one) => (one.$ref ? (components.parameters?.[refName(one.$ref)] ?? []) : one));
      const operation = { id: object.operationId, title: toTitle(object.operationId), tag: tag.toLowerCase().replace(/\W+/g, '-') };
      byTag.set(tag, [
        ...(byTag.get(tag) ?? []),
        { ...operation, method: method.toUpperCase(), path, callers: readCallers(object), parameters, object },
      ]);
    }
  return [...byTag].flatMap(([tag, operations]) => {
    const [first] = operations;
    const description = tags.find(({ name }) => name === tag)?.description ?? '';
    return first ? [{ name: first.tag, title: toTitle(tag), description, operations }] : [];
  });
}

/** Loads the documents. */
export async function loadReference(): Promise<void> {
  referenceError.value = null;
  try {
    const [openapi, asyncapi] = await Promise.all([call<OpenApi>('GET', '/api/openapi.json'), call<AsyncApi>('GET', '/api/asyncapi.json')]);
    const types = { ...asyncapi.components.schemas, ...openapi.components.schemas };
    const sorted = Object.entries(types).sort(([one], [other]) => one.localeCompare(other));
    reference.value = { openapi, asyncapi, types: new Map(sorted), groups: readGroups(openapi) };
  } catch (error) {
    referenceError.value = asApiError(error);
  }
}

/** Returns the schema that `schema` refers to and the name of its type; the schema itself without a name if it is no reference. */
export function resolveSchema(schema: Schema): { schema: Schema; name?: string } {
  if (schema.$ref === undefined) return { schema };
  const name = refName(schema.$ref);
  return { name, schema: { ...reference.peek()?.types.get(name), ...(schema.description && { description: schema.description }) } };
}

/** The path of the page that shows an operation, with its anchor. */
export const operationHref = ({ tag, id }: Pick<Operation, 'tag' | 'id'>): string => `/developers/reference/${tag}#${id}`;
/** The path of the page that shows a named type, with its anchor. */
export const typeHref = (name: string): string => `/developers/reference/types#${name}`;
/** The path of the page that shows an event, with its anchor. */
export const eventHref = (name: string): string => `/developers/reference/events#${name}`;
