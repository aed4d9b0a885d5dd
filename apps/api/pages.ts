import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { send } from '@koa/send';
import type { Context, Middleware } from 'koa';
import { refuse } from '../../lib/base/errors.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import type { State } from './state.ts';

/** Where the build puts what browsers get: beside the compiled code, also when the sources run as they are. */
const builtPages = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../dist/web/' : '../../web/', import.meta.url));

/** The first parts of the people's client's paths: each of them answers its one page. */
export const clientPaths = ['', 'login', 'register', 'invite', 'servers', 'dms', 'discovery', 'apps', 'settings'] as const;

const isClientPath = (first: string): boolean => (clientPaths as readonly string[]).includes(first);

/** What a page may do: run and load what is of its own origin, talk to that and to the gateway, and nothing else. */
function policyOf(gatewayUrl: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "font-src 'self'",
    `connect-src 'self' ${new URL(gatewayUrl).origin}`,
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

/** The file that a path stands for, and how long it is good for; null for what is none of ours. */
function fileOf(path: string): { file: string; caching: string } | null {
  const [, first = '', ...rest] = path.split('/');
  const asked = 'no-cache';
  if (isClientPath(first)) return { file: 'index.html', caching: asked };
  if (first === 'developers') return { file: 'developers.html', caching: asked };
  // Names of assets hold a hash of their content.
  if (first === 'assets' && rest.length === 1 && /^[\w-]+\.[\w.-]*\w$/.test(rest[0] ?? ''))
    return { file: `assets/${rest[0]}`, caching: 'public, max-age=31536000, immutable' };
  if (path === '/favicon.svg') return { file: 'favicon.svg', caching: 'public, max-age=86400' };
  return null;
}

/** Spellings of this machine. The cookie and `Origin` belong to one of them: the one of the public address. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Where a page that was asked for by another spelling of this machine is to be found; null when it is right here. */
function rightPlace(ctx: Context, baseUrl: string): string | null {
  const base = new URL(baseUrl);
  if (ctx.host === base.host || !loopback.has(base.hostname) || !loopback.has(ctx.hostname) || ctx.host.split(':').at(-1) !== base.port)
    return null;
  return base.origin + ctx.url;
}

/**
 * The people's client and the developer portal as files of the build, under a strict policy; any path of theirs answers the page, which finds out itself what
 * to show. `folder` holds the build. Other paths are left to others.
 */
export function servePages({ config }: Pick<ApiPlatform, 'config'>, folder: string = builtPages): Middleware<State> {
  const headers = {
    'Content-Security-Policy': policyOf(config.gatewayUrl),
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  };
  return async (ctx, next) => {
    const found = fileOf(ctx.path);
    if (!found) return next();
    const { file, caching } = found;
    ctx.state.route = file.startsWith('assets/') ? '/assets/{file}' : `/${file}`;
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') refuse('method_not_allowed', { allowed: 'GET' }, { allow: ['GET'] });
    if (!existsSync(join(folder, file))) {
      if (file.startsWith('assets/')) refuse('not_found', { what: 'file' });
      ctx.status = 503;
      ctx.body = 'The pages are not built. Run `npm run build`.\n';
      return;
    }
    const elsewhere = file.endsWith('.html') ? rightPlace(ctx, config.baseUrl) : null;
    if (elsewhere !== null) {
      ctx.status = 307;
      ctx.redirect(elsewhere);
      return;
    }
    ctx.set(headers);
    ctx.vary('Accept-Encoding');
    await send(ctx, file, { root: folder, setHeaders: (response) => response.setHeader('Cache-Control', caching) });
    if (ctx.fresh) ctx.status = 304;
  };
}
