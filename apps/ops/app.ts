import Koa, { type Middleware } from 'koa';
import type { OpsPlatform } from '../../lib/store/platform.ts';
import { dashboard, dashboardPath } from './dashboard.ts';
import { renderMetrics } from './metrics.ts';
import { requirePassword } from './password.ts';
import { checkReadiness } from './readiness.ts';

const index = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Parlance operations</title>
<style>body { font: 16px/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem } dt { font-weight: 600 } dd { margin: 0 0 1rem }</style>
<h1>Parlance operations</h1>
<dl>
<dt><a href="/readyz">Readiness</a></dt><dd>Whether the database, Redis and a worker answer, and what to do when one does not.</dd>
<dt><a href="${dashboardPath}">Queues</a></dt><dd>What waits, what runs, what failed.</dd>
<dt><a href="/metrics">Metrics</a></dt><dd>All processes, for Prometheus.</dd>
<dt><a href="/healthz">Health</a></dt><dd>Whether this process lives.</dd>
</dl>
</html>
`;

const healthz: Middleware = async (ctx, next) => {
  if (ctx.path !== '/healthz') return next();
  ctx.body = { ok: true };
};

function pages(platform: OpsPlatform): Middleware {
  return async (ctx, next) => {
    switch (ctx.path) {
      case '/': {
        ctx.type = 'html';
        ctx.body = index;
        return;
      }
      case '/readyz': {
        const readiness = await checkReadiness(platform);
        ctx.status = readiness.ready ? 200 : 503;
        ctx.body = readiness;
        return;
      }
      case '/metrics': {
        const { type, text } = await renderMetrics(platform);
        ctx.set('Content-Type', type);
        ctx.body = text;
        return;
      }
      default:
        await next();
    }
  };
}

/** The operators' pages: `/`, `/healthz` (open to all), `/readyz`, `/metrics` and the queues, behind the password when there is one. */
export function createApp(platform: OpsPlatform): Koa {
  const app = new Koa();
  app.on('error', (error: Error) => platform.log.warn({ err: error }, 'operators’ page'));
  app.use(async (ctx, next) => {
    ctx.set({ 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' });
    await next();
  });
  app.use(healthz);
  app.use(requirePassword(platform.config.OPS_PASSWORD));
  app.use(pages(platform));
  app.use(dashboard(platform));
  return app;
}
