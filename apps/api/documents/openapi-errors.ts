import { catalogue, type ErrorCode } from '../../../lib/base/errors.ts';
import { groupBy } from '../../../lib/base/group-by.ts';
import type { Route } from '../route.ts';
import type { Json } from './openapi-schemas.ts';

const requestIdExample = '01J9Z8Q4W6K3';

/** All error codes of a route: its own, and those of the middleware. */
export function listErrorCodes(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>([...route.errors, 'unavailable']);
  if (route.auth !== 'none') codes.add('unauthorized');
  if (route.auth === 'person') codes.add('bots_not_allowed');
  if (route.rateLimit !== 'none') codes.add('rate_limited');
  if (route.body || route.query || route.creates) codes.add('invalid_request');
  if (route.body) codes.add('payload_too_large').add('unsupported_media_type').add('body_too_slow');
  if (['upload', 'picture'].includes(route.body?.kind ?? '') || route.checkPath) codes.add('rate_limited');
  if (route.creates) codes.add('idempotency_conflict');
  return [...codes];
}

const toErrorExample = (code: ErrorCode): Json => ({
  code,
  message: catalogue[code].text,
  requestId: requestIdExample,
  ...(code === 'missing_permission' ? { missing: ['Send Messages'] } : {}),
  ...(code === 'rate_limited' ? { retryAfter: 1.5 } : {}),
});

const isRetryable = (status: number): boolean => status === 429 || status === 503;

const toErrorResponse = (status: number, codes: readonly ErrorCode[]): Json => ({
  description: codes.map((code) => `\`${code}\`: ${catalogue[code].text}`).join('\n\n'),
  headers: {
    'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
    Warnings: { $ref: '#/components/headers/Warnings' },
    ...(isRetryable(status) ? { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } : {}),
  },
  content: {
    'application/json': {
      schema: {
        allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { code: { type: 'string', enum: [...codes] } } }],
      },
      ...(codes.length === 1 ? { example: toErrorExample(codes[0] as ErrorCode) } : {}),
    },
  },
});

const toName = (code: ErrorCode): string =>
  code
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/** Writes the error responses of one document. Responses with one code only are components, because many routes have them. */
export interface ErrorWriter {
  /** The error responses of a route by status. */
  write(route: Route): Json;
  /** The components that the written responses use, for `components.responses`. */
  listNamed(): Json;
}

/** Creates a writer for one document. */
export function createErrorWriter(): ErrorWriter {
  const used = new Map<string, Json>();
  const toResponse = (status: number, codes: readonly ErrorCode[]): Json => {
    const [code, ...others] = codes;
    if (code === undefined || others.length > 0) return toErrorResponse(status, codes);
    used.set(toName(code), toErrorResponse(status, codes));
    return { $ref: `#/components/responses/${toName(code)}` };
  };
  return {
    write: (route) => {
      const byStatus = groupBy(listErrorCodes(route), (code) => catalogue[code].status);
      return {
        ...Object.fromEntries([...byStatus].map(([status, codes]) => [status, toResponse(status, codes)])),
        default: { $ref: '#/components/responses/Fault' },
      };
    },
    listNamed: () => ({ ...Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1))), Fault: fault }),
  };
}

const fault: Json = {
  description: 'Any other error. `internal_error` (500) is an error of the service, logged with the request ID.',
  headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      example: { code: 'internal_error', message: 'Something went wrong on our side.', requestId: requestIdExample },
    },
  },
};

/** The schemas of error bodies, for `components.schemas`. */
export const errorSchemas: Json = {
  ErrorCode: {
    type: 'string',
    description: 'What went wrong, for programs. Clients must expect codes that they don’t know: new ones may be added.',
    enum: [...Object.keys(catalogue), 'internal_error'],
  },
  Error: {
    type: 'object',
    description: 'The body of every error response.',
    required: ['message', 'requestId'],
    properties: {
      code: { allOf: [{ $ref: '#/components/schemas/ErrorCode' }], description: 'A stable error code. Absent if no code fits.' },
      message: { type: 'string', description: 'What happened and what to do, for people. May change.' },
      requestId: { type: 'string', description: 'The id of the request. Include it when you report a problem.' },
      errors: {
        type: 'array',
        description: 'The invalid fields, at most 20.',
        items: { $ref: '#/components/schemas/FieldError' },
      },
      missing: { type: 'array', items: { type: 'string' }, description: 'The names of the permissions that the caller is missing.' },
      retryAfter: { type: 'number', description: 'How long to wait before another attempt, in seconds.' },
    },
  },
  FieldError: {
    type: 'object',
    description: 'One invalid field of a request.',
    required: ['path', 'message'],
    properties: {
      path: { type: 'string', description: 'A JSON pointer, such as `/embeds/0/title`, or the name of a command option.' },
      message: { type: 'string', description: 'What is wrong with the field, for people. May change.' },
      step: { type: 'string', description: 'Only if an endpoint failed its ping: the step that failed.' },
      status: { type: ['integer', 'null'], description: 'Only if an endpoint failed its ping: its HTTP status, null if there was none.' },
      ms: { type: 'integer', description: 'Only if an endpoint failed its ping: how long the step took, in milliseconds.' },
    },
  },
};
