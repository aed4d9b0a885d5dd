import type { Context } from 'koa';

/** Whether `If-None-Match` names this ETag. What the request says about caches does not matter: `fetch` adds `no-cache` to every such request. */
export function namesTag(ctx: Context, etag: string): boolean {
  const known = ctx
    .get('If-None-Match')
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes('*') || known.includes(etag);
}
