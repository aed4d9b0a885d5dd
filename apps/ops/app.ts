import Koa, { type Middleware } from 'koa';
import type { InternalPages } from '../../lib/base/internal-server.ts';
import type { OpsPlatform } from '../../lib/store/platform.ts';
import { dashboard } from './dashboard.ts';
import { requireLocalHost } from './host.ts';
import { manage } from './manage/routes.ts';
import type { Collector } from './measures/collector.ts';
import { overview } from './overview.ts';
import { pageFiles } from './page-files.ts';
import { requirePassword } from './password.ts';
import { checkReadiness } from './readiness.ts';

/** The pages load from and send to their own origin only. They have no inline scripts or styles, and cannot be framed. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const healthz: Middleware = async (ctx, next) => {
  if (ctx.path !== '/healthz') return next();
  ctx.body = { ok: true };
};

function pages(platform: OpsPlatform, renderMetrics: InternalPages['renderMetrics'], collector: Collector): Middleware {
  return async (ctx, next) => {
    switch (ctx.path) {
      case '/': {
        ctx.type = 'html';
        ctx.body = overview;
        return;
      }
      case '/overview.json': {
        ctx.body = await collector.getOverview();
        return;
      }
      case '/readyz': {
        const readiness = await checkReadiness(platform);
        ctx.status = readiness.ready ? 200 : 503;
        ctx.body = readiness;
        return;
      }
      case '/metrics': {
        const { type, text } = await renderMetrics();
        ctx.set('Content-Type', type);
        ctx.body = text;
        return;
      }
      default:
        await next();
    }
  };
}

/** The operators' pages: `/` with `/overview.json`, `/healthz`, `/readyz`, `/metrics` of ops and the stores, the queues, and the pages to manage people and servers. If a password is set, all pages but `/healthz` require it. */
export function createApp(platform: OpsPlatform, renderMetrics: InternalPages['renderMetrics'], collector: Collector): Koa {
  const app = new Koa();
  app.on('error', (error: Error) => platform.log.warn({ err: error }, 'a request to the operators’ pages failed'));
  app.use(async (ctx, next) => {
    ctx.set({
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
      'Content-Security-Policy': policy,
      // With `no-referrer` browsers would send `Origin: null` with forms, which `requireSameOrigin` refuses.
      'Referrer-Policy': 'same-origin',
    });
    await next();
  });
  app.use(requireLocalHost(platform.config.OPS_PASSWORD));
  app.use(healthz);
  app.use(requirePassword(platform));
  app.use(pageFiles);
  app.use(pages(platform, renderMetrics, collector));
  app.use(manage(platform));
  app.use(dashboard(platform));
  return app;
}
