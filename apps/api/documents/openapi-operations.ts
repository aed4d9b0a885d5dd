import { limits } from '../../../lib/base/limits.ts';
import { formContentType } from '../bodies/delivery.ts';
import { pictureTypes } from '../bodies/picture.ts';
import type { BodyReader } from '../bodies/reader.ts';
import type { Route } from '../route.ts';
import { createExample } from './examples.ts';
import { rateLimitHeaders } from './openapi-components.ts';
import { type ErrorWriter, listErrorCodes } from './openapi-errors.ts';
import { toParameters } from './openapi-parameters.ts';
import type { Json, SchemaWriter } from './openapi-schemas.ts';

const toHeaderRef = (name: string): Json => ({ $ref: `#/components/headers/${name}` });

/** A file: OpenAPI 3.1 describes it by its media type, and many generators read `format`. */
const toFile = (type: string): Json => ({ type: 'string', format: 'binary', contentMediaType: type });

const securityByAuth: Record<Route['auth'], Json[]> = {
  account: [{ Bot: [] }, { Bearer: [] }, { Cookie: [] }],
  person: [{ Bearer: [] }, { Cookie: [] }],
  none: [],
};

/** The first clause of the summary, which is the title of the operation. */
const toTitle = (summary: string): string => /^(.+?)[.:;](?:\s|$)/s.exec(summary)?.[1] ?? summary;

/** The rules that follow from the fields of a route, in sentences. */
const listRules = (route: Route): string[] => [
  ...(route.auth === 'account' ? ['For bots and people.'] : []),
  ...(route.auth === 'person' ? ['For people only.'] : []),
  ...(route.checkPath ? ['The id and the token in the path are the credential; an `Authorization` header is ignored.'] : []),
  ...(route.auth === 'none' && !route.checkPath ? ['Needs no credential.'] : []),
  ...(route.rateLimit === undefined || route.rateLimit === 'caller'
    ? [`Counts against the rate limit bucket \`${route.auth === 'none' ? 'address' : 'caller'}\`.`]
    : []),
  ...(route.rateLimit === 'login' ? ['Counts against the rate limit bucket `login` of the address.'] : []),
  ...(route.creates ? ['Send an `Idempotency-Key` so that a repeated request creates nothing twice.'] : []),
  ...(route.reply.isPaged ? ['The headers `X-Has-More` and `Link` say whether there is another page.'] : []),
  ...(route.body?.kind === 'upload'
    ? [
        `Files are sent as \`multipart/form-data\`: the body in the part \`payload_json\`, and up to ${limits.filesPerMessage} parts \`files\`.`,
      ]
    : []),
];

function toSuccessResponses(route: Route, schemas: SchemaWriter): Json {
  const headers = [
    'X-Request-Id',
    'Warnings',
    ...(listErrorCodes(route).includes('rate_limited') ? rateLimitHeaders : []),
    ...(route.reply.isPaged ? ['X-Has-More', 'Link'] : []),
    ...(route.reply.hasEtag ? ['ETag'] : []),
  ];
  const { reply } = route;
  const { alternative } = reply;
  const toResponse = (description: string, hasBody: boolean): Json => ({
    description,
    headers: Object.fromEntries(headers.map((name) => [name, toHeaderRef(name)])),
    ...(reply.file ? { content: { [reply.file]: { schema: toFile(reply.file) } } } : {}),
    ...(hasBody && reply.body
      ? { content: { 'application/json': { schema: schemas.write(reply.body), example: createExample(reply.body) } } }
      : {}),
  });
  const notModified = {
    description: 'The response has not changed since the one that `If-None-Match` names.',
    headers: { 'X-Request-Id': toHeaderRef('X-Request-Id'), ETag: toHeaderRef('ETag') },
  };
  return {
    [reply.status]: toResponse(reply.status === 201 ? 'Created.' : reply.status === 204 ? 'Done.' : 'OK.', true),
    ...(route.reply.hasEtag ? { 304: notModified } : {}),
    ...(alternative ? { [alternative.status]: toResponse(alternative.description, alternative.status !== 204) } : {}),
  };
}

/** The body of a route that takes an image. */
const pictureBody: Json = {
  required: true,
  description: 'The bytes of the image.',
  content: Object.fromEntries(pictureTypes.map((type) => [type, { schema: toFile(type) }])),
};

function toRequestBody({ kind, schema: body, isOptional }: BodyReader, schemas: SchemaWriter): Json {
  if (body === null) return pictureBody;
  const schema = schemas.write(body);
  const example = createExample(body);
  const files = {
    type: 'array',
    maxItems: limits.filesPerMessage,
    items: toFile('application/octet-stream'),
    description: 'The files, each with its name.',
  };
  const multipartForm = {
    schema: { type: 'object', properties: { payload_json: schema, files }, additionalProperties: false },
    encoding: { payload_json: { contentType: 'application/json' }, files: { contentType: '*/*' } },
  };
  const payload = {
    schema: {
      type: 'object',
      properties: { payload: { type: 'string', contentMediaType: 'application/json', description: 'The delivery as JSON.' } },
      required: ['payload'],
    },
  };
  const content = {
    'application/json': { schema, example },
    ...(kind === 'upload' ? { 'multipart/form-data': multipartForm } : {}),
    ...(kind === 'delivery' ? { [formContentType]: payload } : {}),
  };
  return { required: !isOptional, content };
}

/** Renders a route as an operation of the OpenAPI document. */
export const toOperation = (route: Route, schemas: SchemaWriter, errors: ErrorWriter): Json => ({
  operationId: route.operationId,
  summary: toTitle(route.summary),
  description: [route.summary, ...listRules(route)].join('\n\n'),
  tags: [route.tag],
  security: securityByAuth[route.auth],
  parameters: toParameters(route, schemas),
  ...(route.body ? { requestBody: toRequestBody(route.body, schemas) } : {}),
  responses: { ...toSuccessResponses(route, schemas), ...errors.write(route) },
});
