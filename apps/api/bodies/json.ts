import type { Context, Middleware } from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import type { Static, TSchema } from 'typebox';
import { type FieldError, refuse } from '../../../lib/base/errors.ts';
import { formatMib, limits } from '../../../lib/base/limits.ts';
import { isTooDeep, requireValid } from '../../../lib/contract/check.ts';
import { warnOfFields } from '../warnings.ts';
import { readWithPaceLimit } from './pace.ts';
import type { BodyReader } from './reader.ts';
import { decodeText, parseJson } from './text.ts';

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
export async function readJson(ctx: Context, isOptional: boolean, expectedTypes = 'application/json'): Promise<unknown> {
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

/** Options of `json`. */
interface JsonOptions {
  /** Whether the body may be missing; it is then undefined. */
  isOptional?: boolean;
  /** Finds the errors in a body that its schema does not find. It gets every body, also one that does not match the schema. */
  findErrors?: (body: unknown) => FieldError[];
}

/** Refuses a body with errors (400), and warns of its unknown fields in any case. */
export function checkFields(ctx: Context, schema: TSchema, body: unknown, findErrors?: JsonOptions['findErrors']): void {
  warnOfFields(ctx, schema, body);
  requireValid(schema, body, 'body', findErrors);
}

/** The body is JSON that matches `schema`, of up to 1 MiB (docs/behavior/requests.md#bodies). */
export const json = <S extends TSchema>(schema: S, { isOptional = false, findErrors }: JsonOptions = {}): BodyReader<Static<S>> => ({
  kind: 'json',
  schema,
  isOptional,
  isCountedBySize: () => true,
  read: async ({ ctx }) => {
    const value = await readJson(ctx, isOptional);
    if (value !== undefined) checkFields(ctx, schema, value, findErrors);
    return { value: value as Static<S>, fingerprint: value, paths: [] };
  },
});
