import { randomUUID } from 'node:crypto';
import type { Middleware } from 'koa';
import { delayRefusal } from '../../../lib/base/delay-refusal.ts';
import { newRefusal, Refusal } from '../../../lib/base/errors.ts';
import type { Metrics } from '../../../lib/base/metrics.ts';
import { BlobsUnavailable } from '../../../lib/store/files/temp.ts';
import { isUnavailable } from '../../../lib/store/mongo/database.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { hasLargeBody } from '../limits/body-size.ts';
import type { State } from '../state.ts';

const requestIdPattern = /^[A-Za-z0-9_.-]{1,64}$/;

/** The refusal to answer an error with (docs/behavior/requests.md#errors): a refusal itself, or 503 if the database or the blob store is unavailable. null means 500. */
function toRefusal(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  if (isUnavailable(error) || error instanceof BlobsUnavailable) return newRefusal('unavailable');
  return null;
}

/**
 * The outermost middleware. Sets the request id, turns errors into answers, and writes one log line and one metric per request. The body of an error is always
 * `{ code, message, requestId, errors?, missing?, retryAfter? }`. Only a refusal marked `codeless` has no `code`.
 */
export function createRequestMiddleware(platform: ApiPlatform, metrics: Metrics): Middleware<State> {
  const isSecure = platform.config.baseUrl.startsWith('https:');
  const headers = {
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store', // files, images and pages replace it
    ...(isSecure ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  };
  return async (ctx, next) => {
    const startMs = performance.now();
    const givenId = ctx.get('X-Request-Id');
    const requestId = requestIdPattern.test(givenId) ? givenId : randomUUID();
    ctx.state.requestId = requestId;
    ctx.state.bytesReadBefore = ctx.req.socket.bytesRead;
    ctx.set('X-Request-Id', requestId);
    ctx.set(headers);
    try {
      await next();
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal !== error) platform.log[refusal ? 'warn' : 'error']({ requestId, route: ctx.state.route, err: error }, 'request failed');
      if (refusal && refusal.status < 500 && hasLargeBody(ctx)) await delayRefusal();
      const { allow, errors, missing, codeless } = refusal?.extra ?? {};
      ctx.status = refusal?.status ?? 500;
      const retryAfter = refusal?.extra.retryAfter ?? (ctx.status === 503 ? 1 : undefined);
      ctx.type = 'application/json';
      ctx.body = JSON.stringify({
        ...(codeless ? {} : { code: refusal?.code ?? 'internal_error' }),
        message: refusal?.message ?? 'Something went wrong on our side. Try again, and include the request ID if you report it.',
        requestId,
        ...(errors ? { errors } : {}),
        ...(missing ? { missing } : {}),
        ...(retryAfter === undefined ? {} : { retryAfter }),
      });
      if (retryAfter !== undefined) ctx.set('Retry-After', String(Math.ceil(retryAfter)));
      if (allow) ctx.set('Allow', allow.join(', '));
      if (ctx.status === 408) ctx.set('Connection', 'close');
      if (ctx.status === 401) ctx.set('WWW-Authenticate', 'Bot, Bearer');
    }
    const ms = performance.now() - startMs;
    const route = ctx.state.route ?? 'none';
    metrics.http.observe({ method: ctx.method, route, status: String(ctx.status) }, ms / 1000);
    platform.log.debug(
      { requestId, method: ctx.method, route, status: ctx.status, ms: Math.round(ms * 10) / 10, caller: ctx.state.actor?.id },
      'request',
    );
  };
}
