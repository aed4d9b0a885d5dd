import type { TSchema } from 'typebox';
import { limits } from '../../../lib/base/limits.ts';
import { Id } from '../../../lib/contract/shared.ts';
import type { Route } from '../route.ts';
import type { Json, SchemaWriter } from './openapi-schemas.ts';

const toIdText = (what: string): { schema: TSchema; text: string; example: string } => ({
  schema: Id,
  text: `The id of ${what}: 19 digits.`,
  example: '1416963489091473408',
});
const text = { type: 'string' };

/** Every parameter of a path, by its name. */
const pathParameters: Record<string, { schema: unknown; text: string; example: string }> = {
  applicationId: toIdText('an application'),
  channelId: toIdText('a channel, thread or direct message channel'),
  commandId: toIdText('a command'),
  interactionId: toIdText('an interaction'),
  messageId: toIdText('a message in the channel'),
  roleId: toIdText('a role of the server'),
  roleOrUserId: toIdText('a role of the server, or of an account'),
  serverId: toIdText('a server'),
  sessionId: {
    schema: text,
    text: 'The id of one of the caller’s sessions, as the list of sessions returns it.',
    example: '1416963489091473408',
  },
  targetId: toIdText('the channel that follows'),
  userId: toIdText('an account'),
  webhookId: toIdText('a webhook'),
  code: { schema: text, text: 'The code of an invite. Upper and lower case differ.', example: 'hT8xY2kQ' },
  emoji: { schema: text, text: 'One emoji, percent-encoded as UTF-8, such as `%F0%9F%91%8D` for 👍.', example: '👍' },
  interactionToken: {
    schema: text,
    text: 'The token of the interaction, which its event or request contains. It is a secret.',
    example: 'TOKEN',
  },
  webhookToken: { schema: text, text: 'The token in the URL of the webhook. It is a secret.', example: 'TOKEN' },
};

const toPathParameters = (path: string, schemas: SchemaWriter): Json[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const known = pathParameters[name];
    if (!known) throw new Error(`apps/api/documents/openapi-parameters.ts does not describe {${name}}`);
    return {
      name,
      in: 'path',
      required: true,
      description: known.text,
      schema: schemas.write(known.schema as TSchema),
      example: known.example,
    };
  });

function toQueryParameter(name: string, schema: TSchema, isRequired: boolean, schemas: SchemaWriter): Json {
  const written = schemas.write(schema);
  return { name, in: 'query', required: isRequired, description: written.description, schema: written };
}

/** The parameters of a route: those of its path and query, and the request headers that it knows. */
export function toParameters(route: Route, schemas: SchemaWriter): Json[] {
  const required = (route.query?.required ?? []) as readonly string[];
  const queryParameters = Object.entries(route.query?.properties ?? {}).map(([name, schema]) =>
    toQueryParameter(name, schema, required.includes(name), schemas),
  );
  const shared = ['RequestId', ...(route.creates ? ['IdempotencyKey'] : []), ...(route.reply.hasEtag ? ['IfNoneMatch'] : [])];
  return [
    ...toPathParameters(route.path, schemas),
    ...queryParameters,
    ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

/** The request headers that several routes know, for `components.parameters`. */
export const sharedParameters: Json = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'An id of up to 64 letters, digits, dots, hyphens and underscores. It is returned in the response and written to the service’s logs.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_.-]{1,64}$' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of an earlier response.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: `A text of up to ${limits.idempotencyKeyChars} characters, such as a UUID. Repeating a request with the same key within 10 minutes returns the first response and creates nothing twice.`,
    schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyChars },
  },
};
