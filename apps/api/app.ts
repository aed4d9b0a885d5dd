import Router from '@koa/router';
import Koa from 'koa';
import { refuse } from '../../lib/base/errors.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import { noTracing } from '../../lib/base/tracing.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { createBodySlots } from './bodies/reader.ts';
import { createIdentify } from './identify.ts';
import { createAddressCharges } from './limits/address-charges.ts';
import { createCostlyReads } from './limits/costly-reads.ts';
import { createPathCredentials } from './limits/path-credentials.ts';
import { serveFiles } from './middleware/files.ts';
import { serveImages } from './middleware/images.ts';
import { servePages } from './middleware/pages.ts';
import { createRequestMiddleware } from './middleware/request.ts';
import { serveSignIn } from './middleware/sign-in.ts';
import { createTraceMiddleware } from './middleware/trace.ts';
import type { Route } from './route.ts';
import { createHandler } from './stages.ts';
import type { State } from './state.ts';

/** Creates the Koa application of `routes`. An unknown path is 404. A known path with another method is 405 with `Allow`. */
export function createApp(platform: ApiPlatform, metrics: Metrics, routes: readonly Route[]): Koa<State> {
  const app = new Koa<State>();
  const router = new Router<State>({ sensitive: true, strict: true });
  const charges = createAddressCharges(platform);
  const pathCredentials = createPathCredentials(platform, charges);
  const stages = {
    platform,
    slots: createBodySlots(),
    identify: createIdentify(platform, charges, pathCredentials),
    pathCredentials,
    runCostlyRead: createCostlyReads(),
  };
  for (const route of routes) router.register(route.path.replace(/\{(\w+)\}/g, ':$1'), [route.method], createHandler(stages, route));
  if (platform.tracing !== noTracing) app.use(createTraceMiddleware(platform));
  app.use(createRequestMiddleware(platform, metrics));
  app.use(serveFiles(platform, charges));
  app.use(serveImages(platform, charges));
  app.use(serveSignIn(platform));
  app.use(servePages(platform));
  app.use((ctx, next) => {
    ctx.path = ctx.path.replace('/%40me', '/@me');
    return next();
  });
  app.use(router.routes());
  app.use((ctx) => {
    const methods = router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods);
    const allowed = [...new Set(methods)].filter((method) => method !== 'HEAD');
    if (allowed.length) refuse('method_not_allowed', { allowed: allowed.join(', ') }, { allow: allowed });
    refuse('not_found', { what: 'path' });
  });
  // Koa emits this when it cannot send a response, for example because the client disconnected. That is not an error of the service.
  app.on('error', (error: Error) => platform.log.debug({ err: error }, 'could not send the response'));
  return app;
}
