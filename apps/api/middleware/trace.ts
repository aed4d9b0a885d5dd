import type { Middleware } from 'koa';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import type { State } from '../state.ts';

/**
 * Begins a trace for each request that the sampler takes, with a span from the request to its response. A traceparent that a client sends is ignored: strangers
 * decide neither what is recorded nor which trace it joins (docs/security.md#traces). The path is not recorded, only its pattern, because paths contain ids and
 * tokens.
 */
export const createTraceMiddleware =
  ({ tracing }: ApiPlatform): Middleware<State> =>
  (ctx, next) =>
    tracing.runRoot(ctx.method, { kind: 'server' }, async (span) => {
      await next();
      const { route, requestId } = ctx.state;
      if (route !== undefined) span.setName(`${ctx.method} ${route}`);
      span.setAttributes({
        'http.request.method': ctx.method,
        'http.response.status_code': ctx.status,
        'parlance.request_id': requestId,
        ...(route === undefined ? {} : { 'http.route': route }),
      });
      if (ctx.status >= 500) span.end(String(ctx.status));
    });
