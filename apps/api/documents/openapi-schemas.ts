import type { TSchema } from 'typebox';
import * as accountDeletion from '../../../lib/contract/account-deletion.ts';
import * as application from '../../../lib/contract/application.ts';
import * as auth from '../../../lib/contract/auth.ts';
import * as channel from '../../../lib/contract/channel.ts';
import * as command from '../../../lib/contract/command.ts';
import * as community from '../../../lib/contract/community.ts';
import * as discovery from '../../../lib/contract/discovery.ts';
import * as dm from '../../../lib/contract/dm.ts';
import * as embed from '../../../lib/contract/embed.ts';
import * as endpoint from '../../../lib/contract/endpoint.ts';
import * as eventPayloads from '../../../lib/contract/event-payloads.ts';
import * as follower from '../../../lib/contract/follower.ts';
import * as gateway from '../../../lib/contract/gateway.ts';
import * as interaction from '../../../lib/contract/interaction.ts';
import * as interactionsEndpoint from '../../../lib/contract/interactions-endpoint.ts';
import * as member from '../../../lib/contract/member.ts';
import * as message from '../../../lib/contract/message.ts';
import * as read from '../../../lib/contract/read.ts';
import * as server from '../../../lib/contract/server.ts';
import * as shared from '../../../lib/contract/shared.ts';
import * as signIn from '../../../lib/contract/sign-in.ts';
import * as sync from '../../../lib/contract/sync.ts';
import * as twoFactor from '../../../lib/contract/two-factor.ts';
import * as user from '../../../lib/contract/user.ts';
import * as webhook from '../../../lib/contract/webhook.ts';
import * as webhookDelivery from '../../../lib/contract/webhook-delivery.ts';

/** A piece of an OpenAPI document. */
export type Json = Record<string, unknown>;

const isSchema = (value: unknown): value is TSchema => typeof value === 'object' && value !== null && '~kind' in value;

const modules = [
  accountDeletion,
  application,
  auth,
  channel,
  command,
  community,
  discovery,
  dm,
  embed,
  endpoint,
  eventPayloads,
  follower,
  gateway,
  interaction,
  interactionsEndpoint,
  member,
  message,
  read,
  server,
  shared,
  signIn,
  sync,
  twoFactor,
  user,
  webhook,
  webhookDelivery,
];

/** Whether a schema is a single value that is no choice, such as an id. Such schemas are written inline, with the description of their place. */
const isSimple = (schema: TSchema): boolean => {
  const { type, enum: choices } = schema as Json;
  return choices === undefined && typeof type === 'string' && ['string', 'number', 'integer', 'boolean'].includes(type);
};

/** Copies of a schema, such as optional ones, keep the object that holds its parts. It identifies the schema. */
const getParts = (schema: TSchema): unknown => {
  const { properties, anyOf, oneOf, enum: choices } = schema as Json;
  return properties ?? anyOf ?? oneOf ?? choices ?? schema;
};

/** The exported schemas of the contract by their parts. Composed schemas contain the same objects, so they are recognized at any depth. */
const namedSchemas = new Map<unknown, { name: string; schema: TSchema }>(
  modules
    .flatMap((module) => Object.entries<unknown>(module))
    .flatMap(([name, schema]) => (isSchema(schema) && !isSimple(schema) ? [[getParts(schema), { name, schema }] as const] : []))
    .reverse(), // of two names for one schema, the first one counts
);

/** Writes schemas into a document: schemas of the contract as references, all others inline. */
export interface SchemaWriter {
  write(schema: TSchema): Json;
  /** All referenced schemas by name, for `components.schemas`. */
  listNamed(): Json;
}

/** A choice of schemas, told apart by a property that is a constant in each of them. */
interface OneOf {
  oneOf: TSchema[];
  discriminator: { propertyName: string };
}
interface Constants {
  properties: Record<string, { const?: unknown }>;
}
/** A schema may hide another one that is written into documents in its stead (`DocumentedAs`). */
interface Hidden {
  '~documented'?: TSchema;
}

/** Creates a writer for one document. */
export function createSchemaWriter(): SchemaWriter {
  const usedSchemas = new Map<string, unknown>();
  const copySchema = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(writeReference);
    if (typeof value !== 'object' || value === null) return value;
    const copy = Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => key !== 'patternText' && key !== 'characters') // they are for validation only
        .map(([key, inner]) => [key, writeReference(inner)]),
    );
    return copy.discriminator ? { ...copy, discriminator: { ...copy.discriminator, mapping: toMapping(value as OneOf) } } : copy;
  };
  const toMapping = ({ oneOf, discriminator: { propertyName } }: OneOf): Json =>
    Object.fromEntries(
      oneOf.map((choice) => [(choice as unknown as Constants).properties[propertyName]?.const, (writeReference(choice) as Json).$ref]),
    );
  const writeReference = (value: unknown): unknown => {
    const known = isSchema(value) ? namedSchemas.get(getParts(value)) : undefined;
    if (!isSchema(value) || !known) return copySchema(value);
    const { name, schema } = known;
    if (!usedSchemas.has(name)) {
      usedSchemas.set(name, null); // set first, so that a recursive schema ends
      usedSchemas.set(name, copySchema((schema as Hidden)['~documented'] ?? schema));
    }
    const reference = { $ref: `#/components/schemas/${name}` };
    const { description } = value as Json;
    return description === undefined || description === (schema as Json).description ? reference : { allOf: [reference], description };
  };
  return {
    write: (schema) => writeReference(schema) as Json,
    listNamed: () => Object.fromEntries([...usedSchemas].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}
