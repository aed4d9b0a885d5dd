import type { TSchema } from 'typebox';
import * as application from '../../lib/contract/application.ts';
import * as channel from '../../lib/contract/channel.ts';
import * as command from '../../lib/contract/command.ts';
import * as community from '../../lib/contract/community.ts';
import * as discovery from '../../lib/contract/discovery.ts';
import * as endpoint from '../../lib/contract/endpoint.ts';
import * as interaction from '../../lib/contract/interaction.ts';
import * as message from '../../lib/contract/message.ts';
import * as server from '../../lib/contract/server.ts';
import * as shared from '../../lib/contract/shared.ts';
import * as user from '../../lib/contract/user.ts';

/** A piece of an OpenAPI document. */
export type Json = Record<string, unknown>;

const isSchema = (value: unknown): value is TSchema => typeof value === 'object' && value !== null && '~kind' in value;

/** The contract's schemas by their names there. They are recognised wherever they stand, as composing them keeps the object itself. */
const names = new Map<unknown, string>(
  [application, channel, command, community, discovery, endpoint, interaction, message, server, shared, user].flatMap((module) =>
    Object.entries<unknown>(module).flatMap(([name, value]) => (isSchema(value) ? [[value, name] as const] : [])),
  ),
);

/** Writes schemas into a document: the contract's own as references, everything else where it stands. */
export interface SchemaWriter {
  write(schema: TSchema): Json;
  /** Every schema that was referred to, by name, for `components.schemas`. */
  named(): Json;
}

/** A writer for one document. */
export function createSchemaWriter(): SchemaWriter {
  const used = new Map<string, unknown>();
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(refer);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, refer(inner)]));
  };
  const refer = (value: unknown): unknown => {
    const name = names.get(value);
    if (name === undefined) return copy(value);
    if (!used.has(name)) {
      used.set(name, null); // known before its own parts are written
      used.set(name, copy(value));
    }
    return { $ref: `#/components/schemas/${name}` };
  };
  return {
    write: (schema) => refer(schema) as Json,
    named: () => Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}
