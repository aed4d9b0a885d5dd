import type { Context, Middleware } from 'koa';

/** Whether `Origin` names the host that the request was sent to. Only the host can be compared, because a proxy may have ended TLS. */
function isOwnOrigin(ctx: Context): boolean {
  const origin = ctx.get('Origin');
  return URL.canParse(origin) && new URL(origin).host === ctx.get('Host').toLowerCase();
}

/**
 * Refuses with 403 a request that can change something, unless a page of this origin sent it (docs/security.md#operator-port). Browsers send the password of
 * these pages with requests of any site, but say in `Sec-Fetch-Site` which one sent it; over plain http, and older ones everywhere, they send only `Origin`.
 */
export const requireSameOrigin: Middleware = async (ctx, next) => {
  const site = ctx.get('Sec-Fetch-Site');
  if (ctx.method === 'GET' || ctx.method === 'HEAD' || (site === '' ? isOwnOrigin(ctx) : site === 'same-origin')) return next();
  ctx.status = 403;
  ctx.body = 'Refused, because another site sent this request. Open the page here, and send its form again.\n';
};
