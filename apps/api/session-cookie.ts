import type { Context } from 'koa';
import { refuse } from '../../lib/base/errors.ts';
import { sessionLifeMs } from '../../lib/domain/access/credentials.ts';

/** The cookie that holds a person's session token. Under https its name has a prefix: `toCookieName`. */
export const cookieName = 'parlance_session';

/**
 * The name of a cookie. Under https it has a prefix by which browsers accept it only from this host over https, so that a page of a neighbouring host cannot set
 * it: `__Host-` needs the path `/`, `__Secure-` any. Over plain http, as on loopback, browsers refuse these prefixes.
 */
const toCookieName = (baseUrl: string, { name, path }: Pick<Cookie, 'name' | 'path'>): string =>
  baseUrl.startsWith('https:') ? `${path === '/' ? '__Host-' : '__Secure-'}${name}` : name;

/** The value of a cookie; null without one. */
export const readCookie = (ctx: Context, baseUrl: string, cookie: Cookie): string | null =>
  ctx.cookies.get(toCookieName(baseUrl, cookie)) ?? null;

const sessionCookie: Cookie = { name: cookieName, path: '/', lifeMs: sessionLifeMs };
/** The request header that names the account that a page shows. All tabs of a browser share the cookie, but not the account that they show. */
export const accountHeader = 'Parlance-Account';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The token of a request. `isBot`: it came with the scheme `Bot`. Tokens with `Bearer` or in the cookie are those of people. */
export interface PresentedToken {
  token: string;
  isBot: boolean;
}

/**
 * The token of a request, from `Authorization: Bot <token>` or `Bearer <token>`, or without that header from the cookie. Null if there is neither, or the
 * header is malformed. With the cookie, methods other than GET, HEAD and OPTIONS need the `Origin` of `baseUrl`, else they are refused as `unauthorized`
 * (docs/behavior/requests.md#session-cookie).
 */
export function readToken(ctx: Context, baseUrl: string): PresentedToken | null {
  const header = ctx.get('Authorization');
  if (header) {
    const [, scheme, token] = /^(Bot|Bearer) (\S+)$/.exec(header) ?? [];
    return token ? { token, isBot: scheme === 'Bot' } : null;
  }
  // Sessions of the version before have the cookie without a prefix.
  const cookie = readCookie(ctx, baseUrl, sessionCookie) ?? ctx.cookies.get(cookieName) ?? null;
  if (cookie && !safeMethods.has(ctx.method) && ctx.get('Origin') !== new URL(baseUrl).origin)
    return refuse('unauthorized', { hint: 'A request with the session cookie needs an Origin header with the origin of this service' });
  return cookie ? { token: cookie, isBot: false } : null;
}

/** A cookie that only requests send, never scripts. It is sent with navigations from other sites, unless it is `isStrict`. */
export interface Cookie {
  name: string;
  path: string;
  lifeMs: number;
  isStrict?: true;
}

/** Sets a cookie, or clears it (null). Under https it is secure. */
export function setCookie(ctx: Context, baseUrl: string, cookie: Cookie, value: string | null): void {
  const { path, lifeMs, isStrict } = cookie;
  const isSecure = baseUrl.startsWith('https:');
  const parts = [`${toCookieName(baseUrl, cookie)}=${value ?? ''}`, `Path=${path}`, 'HttpOnly', `SameSite=${isStrict ? 'Strict' : 'Lax'}`];
  ctx.append('Set-Cookie', [...parts, `Max-Age=${value ? lifeMs / 1000 : 0}`, ...(isSecure ? ['Secure'] : [])].join('; '));
}

/** Sets the cookie of a new session, HttpOnly and SameSite=Lax, or clears it (null). Clears that of the version before, too, if the request has it. */
export function setSessionCookie(ctx: Context, baseUrl: string, token: string | null): void {
  setCookie(ctx, baseUrl, sessionCookie, token);
  if (baseUrl.startsWith('https:') && ctx.cookies.get(cookieName) !== undefined)
    ctx.append('Set-Cookie', `${cookieName}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure`);
}
