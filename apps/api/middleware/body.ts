import type { Context, Middleware } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import { refuse } from '../../../lib/base/errors.ts';
import { formatMib, limits } from '../../../lib/base/limits.ts';
import { isTooDeep } from '../../../lib/contract/check.ts';
import { decodeText, parseJson } from './json.ts';
import { readWithPaceLimit } from './pace.ts';

/** Reads a body into `ctx.request.body`, decompressed. Each of its characters is one byte, because only `decodeText` refuses bytes that are not text. */
const receiveBody: Middleware = koaBody({
  json: false,
  text: true,
  textTypes: ['application/json'],
  textLimit: limits.bodyBytes,
  encoding: 'binary',
  urlencoded: false,
  multipart: false,
  parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
  onError: (error: Error) => {
    const { status, httpCode } = error as { status?: number; httpCode?: number };
    if (status === 413 || httpCode === 413) refuse('payload_too_large', { limit: formatMib(limits.bodyBytes) });
    refuse('invalid_request', { reason: 'the body cannot be read' });
  },
});

/** Whether the request has a body. */
export const hasBody = (ctx: Context): boolean => ctx.get('Transfer-Encoding') !== '' || Number(ctx.get('Content-Length') || 0) > 0;

/**
 * Reads the JSON body of a request; undefined when there is none and `isOptional` is true. Refuses a missing body, invalid text or JSON, a field `__proto__`
 * and nesting deeper than 32 (400), another content type or an unknown character set (415, with `expectedTypes` in the message of the first), more than 1 MiB (413), and a body that arrives too slowly (408).
 */
export async function readBody(ctx: Context, isOptional: boolean, expectedTypes = 'application/json'): Promise<unknown> {
  if (!hasBody(ctx)) {
    if (isOptional) return undefined;
    return refuse('invalid_request', { reason: 'a JSON body is required' });
  }
  if (!ctx.is('application/json')) return refuse('unsupported_media_type', { expected: expectedTypes });
  await readWithPaceLimit(ctx.req, () => receiveBody(ctx, async () => undefined));
  const body = parseJson(decodeText(Buffer.from(ctx.request.body as string, 'latin1'), ctx.request.charset, 'the body'), 'the body');
  if (isTooDeep(body)) return refuse('invalid_request', { reason: `the body is nested deeper than ${limits.bodyDepth}` });
  return body;
}
