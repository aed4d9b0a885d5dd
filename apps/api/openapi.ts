import type { TSchema } from 'typebox';
import { catalogue, type ErrorCode } from '../../lib/base/errors.ts';
import { groupBy } from '../../lib/base/group-by.ts';
import { limits } from '../../lib/base/limits.ts';
import { events } from '../../lib/contract/events.ts';
import { formContentType } from './middleware/delivery.ts';
import { pictureTypes } from './middleware/picture.ts';
import { cookieName } from './middleware/session-cookie.ts';
import { createSchemaWriter, type Json, type SchemaWriter } from './openapi-schemas.ts';
import { tags } from './openapi-tags.ts';
import type { Route } from './route.ts';

const listPathParams = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, param]) => param as string);
const toHeaderRef = (name: string): Json => ({ $ref: `#/components/headers/${name}` });
const rateLimitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset-After', 'X-RateLimit-Bucket'];

const pageHeaders = ['X-Has-More', 'Link'];

/** All error codes of a route: its own, and those of the middleware. */
export function listErrorCodes(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>([...route.errors, 'unavailable']);
  if (route.auth !== 'none') codes.add('unauthorized');
  if (route.auth === 'person') codes.add('bots_not_allowed');
  if (route.rateLimit !== 'none') codes.add('rate_limited');
  if (route.body || route.query || route.creates || route.checkPicture) codes.add('invalid_request');
  if (route.body || route.checkPicture) codes.add('payload_too_large').add('unsupported_media_type').add('body_too_slow');
  if (route.checkUpload || route.checkPicture || route.checkPath) codes.add('rate_limited');
  if (route.creates) codes.add('idempotency_conflict');
  return [...codes];
}

const securityByAuth: Record<Route['auth'], Json[]> = {
  account: [{ Bot: [] }, { Bearer: [] }, { Cookie: [] }],
  person: [{ Bearer: [] }, { Cookie: [] }],
  none: [],
};

function toErrorResponses(route: Route): Json {
  const byStatus = groupBy(listErrorCodes(route), (code) => catalogue[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\`: ${catalogue[code].text}`).join('\n\n'),
        headers: {
          'X-Request-Id': toHeaderRef('X-Request-Id'),
          Warnings: toHeaderRef('Warnings'),
          ...(status === 429 || status === 503 ? { 'Retry-After': toHeaderRef('Retry-After') } : {}),
        },
        content: {
          'application/json': { schema: { $ref: '#/components/schemas/Error', properties: { code: { enum: codes } } } },
        },
      },
    ]),
  );
}

function toSuccessResponses(route: Route, schemas: SchemaWriter): Json {
  const headers = [
    'X-Request-Id',
    'Warnings',
    ...(listErrorCodes(route).includes('rate_limited') ? rateLimitHeaders : []),
    ...(route.isPaged ? pageHeaders : []),
    ...(route.hasEtag ? ['ETag'] : []),
  ];
  const toResponse = (description: string, hasBody: boolean): Json => ({
    description,
    headers: Object.fromEntries(headers.map((name) => [name, toHeaderRef(name)])),
    ...(route.reply.file ? { content: { [route.reply.file]: { schema: { type: 'string', contentEncoding: 'binary' } } } } : {}),
    ...(hasBody && route.reply.body ? { content: { 'application/json': { schema: schemas.write(route.reply.body) } } } : {}),
  });
  const { reply, alternativeReply } = route;
  return {
    [reply.status]: toResponse(reply.status === 201 ? 'Created.' : 'OK.', true),
    ...(route.hasEtag
      ? {
          304: {
            description: 'The response has not changed since the one that `If-None-Match` names.',
            headers: { ETag: toHeaderRef('ETag') },
          },
        }
      : {}),
    ...(alternativeReply ? { [alternativeReply.status]: toResponse(alternativeReply.description, alternativeReply.status !== 204) } : {}),
  };
}

function toParameters(route: Route, schemas: SchemaWriter): Json[] {
  const pathParameters = listPathParams(route.path).map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const queryParameters = Object.entries(route.query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: ((route.query?.required ?? []) as readonly string[]).includes(name),
    schema: schemas.write(schema),
  }));
  const parameterNames = ['RequestId', ...(route.creates ? ['IdempotencyKey'] : []), ...(route.hasEtag ? ['IfNoneMatch'] : [])];
  return [...pathParameters, ...queryParameters, ...parameterNames.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function toRequestBody(route: Route, body: TSchema, schemas: SchemaWriter): Json {
  const schema = schemas.write(body);
  const files = { type: 'array', maxItems: limits.filesPerMessage, items: { type: 'string', contentEncoding: 'binary' } };
  const multipartForm = {
    schema: { type: 'object', properties: { payload_json: schema, files }, additionalProperties: false },
    encoding: { payload_json: { contentType: 'application/json' }, files: { contentType: '*/*' } },
  };
  const payload = { schema: { type: 'object', properties: { payload: { type: 'string' } }, required: ['payload'] } };
  const content = {
    'application/json': { schema },
    ...(route.checkUpload ? { 'multipart/form-data': multipartForm } : {}),
    ...(route.isDelivery ? { [formContentType]: payload } : {}),
  };
  return { required: !route.isBodyOptional, content };
}

/** The body of a route that takes an image. */
const pictureBody: Json = { required: true, content: Object.fromEntries(pictureTypes.map((type) => [type, {}])) };

function toOperation(route: Route, schemas: SchemaWriter): Json {
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    security: securityByAuth[route.auth],
    parameters: toParameters(route, schemas),
    ...(route.body ? { requestBody: toRequestBody(route, route.body, schemas) } : {}),
    ...(route.checkPicture ? { requestBody: pictureBody } : {}),
    responses: { ...toSuccessResponses(route, schemas), ...toErrorResponses(route), default: { $ref: '#/components/responses/Fault' } },
  };
}

const errorSchema: Json = {
  type: 'object',
  required: ['message', 'requestId'],
  properties: {
    code: { type: 'string', description: 'A stable error code.' },
    message: { type: 'string', description: 'What happened and what to do, for people. May change.' },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      description: 'The invalid fields. `path` is a JSON pointer, or the name of a command option.',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: {
          path: { type: 'string' },
          message: { type: 'string' },
          step: { type: 'string', description: 'Only if an endpoint failed its ping: the step that failed.' },
          status: {
            type: ['integer', 'null'],
            description: 'Only if an endpoint failed its ping: its HTTP status, null if there was none.',
          },
          ms: { type: 'integer', description: 'Only if an endpoint failed its ping: how long the step took, in milliseconds.' },
        },
      },
    },
    missing: { type: 'array', items: { type: 'string' }, description: 'The names of the permissions that the caller is missing.' },
    retryAfter: { type: 'number', description: 'How long to wait, in seconds.' },
  },
};

const toHeader = (type: string, description: string): Json => ({ description, schema: { type } });

const components: Json = {
  securitySchemes: {
    Bot: { type: 'apiKey', in: 'header', name: 'Authorization', description: '`Bot <token>`' },
    Bearer: { type: 'http', scheme: 'bearer', description: 'The session token of a person, as login returns it.' },
    Cookie: {
      type: 'apiKey',
      in: 'cookie',
      name: cookieName,
      description: 'The session of a person. Methods other than GET and HEAD need a same-origin `Origin` header.',
    },
  },
  parameters: {
    RequestId: {
      name: 'X-Request-Id',
      in: 'header',
      description: 'Returned in the response and written to the service’s logs.',
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
      description: 'Repeating a request with the same key within 10 minutes returns the first response and creates nothing twice.',
      schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyChars },
    },
  },
  headers: {
    'X-Request-Id': toHeader('string', 'The id of the request. Include it when you report a problem.'),
    Warnings: toHeader(
      'string',
      'Fields and query parameters of the request that the operation does not have, and that were ignored: `unknown field /titel; unknown query parameter wait`.',
    ),
    'Retry-After': toHeader('integer', 'How long to wait, in seconds.'),
    'X-Has-More': toHeader('boolean', 'Whether there are more results after this page.'),
    Link: toHeader('string', 'The next page: `<URL>; rel="next"`. Absent on the last page.'),
    ETag: toHeader(
      'string',
      'Changes whenever the response does. Send it in `If-None-Match` to get 304 instead of the same response again.',
    ),
    'X-RateLimit-Limit': toHeader('integer', 'The size of the rate limit bucket, in requests.'),
    'X-RateLimit-Remaining': toHeader('integer', 'How many requests are left now.'),
    'X-RateLimit-Reset-After': toHeader('number', 'Seconds until the bucket is full again.'),
    'X-RateLimit-Bucket': toHeader('string', 'The rate limit bucket that the request counted against.'),
  },
  responses: {
    Fault: {
      description: 'Any other error. `internal_error` (500) is an error of the service, logged with the request ID.',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  },
};

/** Renders the OpenAPI 3.1 document of `routes` as served under `baseUrl`. It is never committed. */
export function renderOpenApi(routes: readonly Route[], baseUrl: string): { openapi: string } & Json {
  const schemas = createSchemaWriter();
  const paths: Record<string, Json> = {};
  for (const route of routes) paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: toOperation(route, schemas) };
  for (const { data } of Object.values(events)) schemas.write(data); // clients generate the types of events from this document
  return {
    openapi: '3.1.0',
    info: { title: 'Parlance', version: '1', description: 'The HTTP API. Identify errors by `code`, never by message.' },
    servers: [{ url: baseUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { ...components, schemas: { Error: errorSchema, ...schemas.listNamed() } },
  };
}
