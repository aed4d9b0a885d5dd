import type { Context } from 'koa';

/** Whether `If-None-Match` names this ETag. Ignores `Cache-Control` of the request, because `fetch` adds `no-cache` to every request with `If-None-Match`. */
export function matchesEtag(ctx: Context, etag: string): boolean {
  const etags = ctx
    .get('If-None-Match')
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''));
  return etags.includes('*') || etags.includes(etag);
}
