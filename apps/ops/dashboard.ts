import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { KoaAdapter } from '@bull-board/koa';
import type { Middleware } from 'koa';
import { queues as entries, type QueueName } from '../../lib/contract/jobs.ts';
import type { OpsPlatform } from '../../lib/store/platform.ts';

/** The path of the dashboard. */
export const dashboardPath = '/queues';

// Links to other hosts, which are removed. The page would load fonts from a font service, and wait for it on a machine without internet access.
const outsideLink = /<link\b[^>]*\bhref="https?:\/\/[^>]*>/g;
const policy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The description of a queue: what its jobs do, what is normal, and what to do when it grows. */
function describe(name: string): string {
  const { description, normal, whenGrowing } = entries[name as QueueName];
  return `${description} Normal: ${normal} When it grows: ${whenGrowing}`;
}

/** The read-only dashboard of the queues, with a description of each. It loads nothing from other hosts. */
export function dashboard(platform: OpsPlatform): Middleware {
  const serverAdapter = new KoaAdapter().setBasePath(dashboardPath);
  createBullBoard({
    queues: platform.queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true, description: describe(queue.name) })),
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Parlance queues', hideDocsLink: true, locale: { lng: 'en-US' } } },
  });
  const pages = serverAdapter.registerPlugin() as Middleware;
  return async (ctx, next) => {
    if (ctx.path !== dashboardPath && !ctx.path.startsWith(`${dashboardPath}/`)) return next();
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.status = 405;
      ctx.set('Allow', 'GET, HEAD');
      ctx.body = 'This page is read-only.\n';
      return;
    }
    ctx.set('Content-Security-Policy', policy);
    await pages(ctx, next);
    if (typeof ctx.body === 'string' && ctx.response.is('html')) ctx.body = ctx.body.replace(outsideLink, '');
  };
}
