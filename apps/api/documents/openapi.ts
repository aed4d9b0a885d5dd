import { events } from '../../../lib/contract/events.ts';
import type { Route } from '../route.ts';
import { headers, securitySchemes } from './openapi-components.ts';
import { createErrorWriter, errorSchemas } from './openapi-errors.ts';
import { toOperation } from './openapi-operations.ts';
import { sharedParameters } from './openapi-parameters.ts';
import { createSchemaWriter, type Json, type SchemaWriter } from './openapi-schemas.ts';
import { tags } from './openapi-tags.ts';
import { renderWebhooks } from './openapi-webhooks.ts';

const description = [
  'The HTTP API. Identify errors by `code`, never by `message`.',
  'Ids are strings of 19 digits that sort by time. Times are in ISO 8601, in UTC, with milliseconds. Unknown fields of a request are ignored and named in the header `Warnings`; clients must ignore fields, events and error codes that they don’t know.',
  'Each response says how much of its rate limit bucket is left. After 429 and 503 wait for `Retry-After`.',
].join('\n\n');

/** An event as the gateway sends it. Generated clients know from `t` which type `d` has. */
const toGatewayEvent = (schemas: SchemaWriter): Json => ({
  description: 'An event of the gateway: `t` is its name, and `d` its payload.',
  oneOf: Object.entries(events).map(([name, { data, summary }]) => ({
    type: 'object',
    title: name,
    description: summary,
    required: ['t', 'd'],
    properties: { t: { type: 'string', const: name }, d: schemas.write(data) },
  })),
});

/** Renders the OpenAPI 3.1 document of `routes` as served under `baseUrl`. It is never committed. */
export function renderOpenApi(routes: readonly Route[], baseUrl: string): { openapi: string } & Json {
  const schemas = createSchemaWriter();
  const errors = createErrorWriter();
  const paths: Record<string, Json> = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: toOperation(route, schemas, errors) };
  const webhooks = renderWebhooks(schemas);
  const GatewayEvent = toGatewayEvent(schemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parlance',
      version: '1',
      description,
      contact: { name: 'The operators of this installation', url: baseUrl },
      license: { name: 'GNU Affero General Public License v3.0 or later', identifier: 'AGPL-3.0-or-later' },
    },
    servers: [{ url: baseUrl, description: 'This installation.' }],
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
    paths,
    webhooks,
    components: {
      securitySchemes,
      parameters: sharedParameters,
      headers,
      responses: errors.listNamed(),
      schemas: { ...errorSchemas, GatewayEvent, ...schemas.listNamed() },
    },
  };
}
