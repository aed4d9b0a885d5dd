import type { TSchema } from 'typebox';
import * as application from '../../lib/contract/application.ts';
import * as channel from '../../lib/contract/channel.ts';
import * as command from '../../lib/contract/command.ts';
import * as community from '../../lib/contract/community.ts';
import * as discovery from '../../lib/contract/discovery.ts';
import * as endpoint from '../../lib/contract/endpoint.ts';
import * as eventPayloads from '../../lib/contract/event-payloads.ts';
import * as gateway from '../../lib/contract/gateway.ts';
import * as interaction from '../../lib/contract/interaction.ts';
import * as message from '../../lib/contract/message.ts';
import * as read from '../../lib/contract/read.ts';
import * as server from '../../lib/contract/server.ts';
import * as shared from '../../lib/contract/shared.ts';
import * as user from '../../lib/contract/user.ts';

/** A piece of an OpenAPI document. */
export type Json = Record<string, unknown>;

const isSchema = (value: unknown): value is TSchema => typeof value === 'object' && value !== null && '~kind' in value;

/** The exported name of each schema of the contract, by schema object. Composed schemas contain the same objects, so they are recognized at any depth. */
const schemaNames = new Map<unknown, string>(
  [
    application,
    channel,
    command,
    community,
    discovery,
    endpoint,
    eventPayloads,
    gateway,
    interaction,
    message,
    read,
    server,
    shared,
    user,
  ].flatMap((module) => Object.entries<unknown>(module).flatMap(([name, value]) => (isSchema(value) ? [[value, name] as const] : []))),
);

/** Writes schemas into a document: schemas of the contract as references, all others inline. */
export interface SchemaWriter {
  write(schema: TSchema): Json;
  /** All referenced schemas by name, for `components.schemas`. */
  listNamed(): Json;
}

/** Creates a writer for one document. */
export function createSchemaWriter(): SchemaWriter {
  const usedSchemas = new Map<string, unknown>();
  const copySchema = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(writeReference);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, writeReference(inner)]));
  };
  const writeReference = (value: unknown): unknown => {
    const name = schemaNames.get(value);
    if (name === undefined) return copySchema(value);
    if (!usedSchemas.has(name)) {
      usedSchemas.set(name, null); // set first, so that a recursive schema ends
      usedSchemas.set(name, copySchema(value));
    }
    return { $ref: `#/components/schemas/${name}` };
  };
  return {
    write: (schema) => writeReference(schema) as Json,
    listNamed: () => Object.fromEntries([...usedSchemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}
