import type { Context, Middleware } from 'koa';
import { readClientAddress } from '../../../lib/base/client-address.ts';
import { refuse, refuseField } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { beginSignIn, endSignIn, type SignInFault, toSignInFault } from '../../../lib/domain/accounts/sign-ins.ts';
import { callbackPath } from '../../../lib/store/openid.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { type Bucket, countInBucket } from '../../../lib/store/redis/preflight.ts';
import { toAddressBucket } from '../limits/address-charges.ts';
import { toAddressLoginBucket } from '../limits/logins.ts';
import { type Cookie, readCookie, setCookie, setSessionCookie } from '../session-cookie.ts';
import type { State } from '../state.ts';
import { isForPrograms } from './pages.ts';

const startPath = '/api/auth/oidc/start';

/** What the browser keeps until the provider sends it back. The provider is another site, so the cookie must be sent with its navigation. */
const flowCookie: Cookie = { name: 'parlance_sign_in', path: callbackPath, lifeMs: limits.signInMs };

/** A sign-in that belongs to no account yet. Only a cookie holds it: by a link, a person could be made to link the account of somebody else. */
export const ticketCookie: Cookie = { name: 'parlance_sign_in_ticket', path: '/api', lifeMs: limits.signInTicketMs, isStrict: true };

/** The page of the client that says how a sign-in goes on. */
const toPage = (returnTo: string, error?: SignInFault): string => {
  const query = new URLSearchParams({ ...(error ? { error } : {}), ...(returnTo === '/' ? {} : { next: returnTo }) }).toString();
  return `/sign-in${query && `?${query}`}`;
};

/** The path `returnTo` of the query, `/` without one. Refuses `invalid_request` for anything that is not the path of a page of this installation. */
function readReturnTo(ctx: Context, baseUrl: string): string {
  const { returnTo = '/' } = ctx.query;
  const { origin } = new URL(baseUrl);
  const url = typeof returnTo === 'string' && returnTo.startsWith('/') && URL.canParse(returnTo, origin) ? new URL(returnTo, origin) : null;
  const path = url?.origin === origin ? url.pathname + url.search + url.hash : '';
  if (path === '' || path.startsWith('//') || path.length > limits.signInReturnChars || isForPrograms(path))
    return refuseField('/returnTo', 'Choose the path of a page of this service.');
  return path;
}

/** Charges a bucket. Returns false if it is empty. */
async function charge(platform: ApiPlatform, bucket: Bucket | null): Promise<boolean> {
  if (bucket === null || platform.config.RATE_LIMIT === null) return true;
  return (await countInBucket(platform.preflight, bucket))?.isAllowed !== false;
}

/**
 * Serves the way to the provider of OpenID Connect and back (docs/behavior/accounts.md#sign-in-by-openid-connect). Browsers come here by navigation, so both
 * answer with redirects, also for errors: the page `/sign-in` says what happened. Without a provider both are 404.
 */
export function serveSignIn(platform: ApiPlatform): Middleware<State> {
  const { baseUrl, RATE_LIMIT } = platform.config;
  const { origin } = new URL(baseUrl);
  const redirect = (ctx: Context, url: string, status: 302 | 303): void => {
    ctx.status = status;
    ctx.set('Referrer-Policy', 'no-referrer');
    ctx.redirect(url);
  };

  async function start(ctx: Context, address: string): Promise<void> {
    const returnTo = readReturnTo(ctx, baseUrl);
    if (!(await charge(platform, RATE_LIMIT && toAddressBucket(RATE_LIMIT, address))))
      return redirect(ctx, origin + toPage(returnTo, 'rate_limited'), 302);
    try {
      const { url, flow } = await beginSignIn(platform, { returnTo, isLinking: ctx.query.link === 'true' });
      setCookie(ctx, baseUrl, flowCookie, flow);
      redirect(ctx, url, 302);
    } catch (error) {
      redirect(ctx, origin + toPage(returnTo, toSignInFault(error)), 302);
    }
  }

  async function end(ctx: Context, address: string): Promise<void> {
    const isAllowed = await charge(platform, toAddressLoginBucket(address));
    const client = { address, userAgent: ctx.get('User-Agent'), tokenId: null };
    const { returnTo, ...outcome } = isAllowed
      ? await endSignIn(platform, ctx.search, readCookie(ctx, baseUrl, flowCookie), client)
      : { returnTo: '/', failure: 'rate_limited' as const };
    setCookie(ctx, baseUrl, flowCookie, null);
    if ('token' in outcome) setSessionCookie(ctx, baseUrl, outcome.token);
    if ('ticket' in outcome) setCookie(ctx, baseUrl, ticketCookie, outcome.ticket);
    redirect(ctx, origin + ('token' in outcome ? returnTo : toPage(returnTo, 'failure' in outcome ? outcome.failure : undefined)), 303);
  }

  return async (ctx, next) => {
    if ((ctx.path !== startPath && ctx.path !== callbackPath) || platform.openIdProvider === null) return next();
    ctx.state.route = ctx.path;
    if (ctx.method !== 'GET') refuse('method_not_allowed', { allowed: 'GET' }, { allow: ['GET'] });
    const address = readClientAddress(ctx.req, platform.config.TRUST_PROXY);
    await (ctx.path === startPath ? start(ctx, address) : end(ctx, address));
  };
}
