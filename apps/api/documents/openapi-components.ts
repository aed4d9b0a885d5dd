import { cookieName } from '../session-cookie.ts';
import type { Json } from './openapi-schemas.ts';

const toHeader = (schema: Json, description: string, more: Json = {}): Json => ({ description, schema, ...more });

/** The response headers, for `components.headers`. Those that every response of their kind has are required. */
export const headers: Json = {
  'X-Request-Id': toHeader({ type: 'string' }, 'The id of the request. Include it when you report a problem.', { required: true }),
  Warnings: toHeader(
    { type: 'string' },
    'Fields and query parameters of the request that the operation does not have, and that were ignored: `unknown field /titel; unknown query parameter wait`.',
  ),
  'Retry-After': toHeader({ type: 'integer' }, 'How long to wait before another attempt, in whole seconds.', { required: true }),
  'X-Has-More': toHeader({ type: 'boolean' }, 'Whether there are more results after this page.', { required: true }),
  Link: toHeader({ type: 'string' }, 'The next page: `<URL>; rel="next"`. Absent on the last page.'),
  ETag: toHeader(
    { type: 'string' },
    'Changes whenever the response does. Send it in `If-None-Match` to get 304 instead of the same response again.',
    { required: true },
  ),
  'X-RateLimit-Limit': toHeader({ type: 'integer' }, 'The size of the rate limit bucket, in requests.'),
  'X-RateLimit-Remaining': toHeader({ type: 'integer' }, 'How many requests are left now.'),
  'X-RateLimit-Reset-After': toHeader({ type: 'number' }, 'Seconds until the bucket is full again.'),
  'X-RateLimit-Bucket': toHeader({ type: 'string' }, 'The name of the rate limit bucket that the request counted against.'),
};

/** The names of the headers that describe a rate limit. */
export const rateLimitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset-After', 'X-RateLimit-Bucket'];

/** How requests are authenticated, for `components.securitySchemes`. */
export const securitySchemes: Json = {
  Bot: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: 'The token of a bot, after the word `Bot` and one space: `Bot <token>`.',
  },
  Bearer: { type: 'http', scheme: 'bearer', description: 'The session token of a person, as login returns it.' },
  Cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: cookieName,
    description: 'The session of a person. Methods other than GET and HEAD need a same-origin `Origin` header.',
  },
};
