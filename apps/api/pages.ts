import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { send } from '@koa/send';
import type { Context, Middleware } from 'koa';
import { refuse } from '../../lib/base/errors.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import type { State } from './state.ts';

/** Where the build puts what browsers get: beside the compiled code, also when the sources run as they are. */
const builtPages = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../dist/web/' : '../../web/', import.meta.url));

/** The first parts of the people's client's paths, besides `/` itself: each of them answers its one page. */
export const clientPaths = ['login', 'register', 'invite', 'servers', 'dms', 'discovery', 'apps', 'settings'] as const;

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

/** A file of the build: a page, what a page is made of, or what lies beside the pages, such as their icon. */
interface Built {
  file: string;
  kind: 'page' | 'asset' | 'beside';
}

/** How long each is good for: a page is asked for anew each time, names of assets hold a hash of their content. */
const caching = { page: 'no-cache', asset: 'public, max-age=31536000, immutable', beside: 'public, max-age=86400' };

/** The file that a path stands for; null for what is none of ours. Names are plain: nothing encoded, no dots but those of endings. */
function builtOf(path: string): Built | null {
  const [, first = ''] = path.split('/', 2);
  if (path === '/' || isClientPath(first)) return { file: 'index.html', kind: 'page' };
  if (first === 'developers') return { file: 'developers.html', kind: 'page' };
  if (/^\/assets\/[\w-]+(?:\.[\w-]+)+$/.test(path) && !/\.(?:br|gz)$/.test(path)) return { file: path.slice(1), kind: 'asset' };
  return /^\/[\w-]+\.(?:svg|png|ico|webmanifest)$/.test(path) ? { file: path.slice(1), kind: 'beside' } : null;
}

/** Paths of programs: what they do not name is 404 as JSON, also for a browser. */
const isForPrograms = (path: string): boolean => /^\/(?:api|files|images|assets|gateway)(?:\/|$)/.test(path);

/** Whether a browser opens a path as a page: it prefers HTML. */
const opensPage = (ctx: Context): boolean =>
  (ctx.method === 'GET' || ctx.method === 'HEAD') && !isForPrograms(ctx.path) && ctx.accepts('json', 'html') === 'html';

/** Tells states of a file apart by its content, so that nodes that were installed at different times agree; null when there is no file. Read once a state. */
function createTags(folder: string): (file: string) => Promise<string | null> {
  const known = new Map<string, { at: number; tag: string }>();
  return async (file) => {
    const path = join(folder, file);
    const found = await stat(path).catch(() => null);
    if (!found?.isFile()) return null;
    const before = known.get(file);
    if (before?.at === found.mtimeMs) return before.tag;
    // Weak, as the compressed files are sent under the same one.
    const tag = `W/"${createHash('sha256')
      .update(await readFile(path))
      .digest('base64url')}"`;
    known.set(file, { at: found.mtimeMs, tag });
    return tag;
  };
}

/** Spellings of this machine. The cookie and `Origin` belong to one of them: the one of the public address. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Where a page that was asked for by another spelling of this machine is to be found; null when it is right here. */
function rightPlace(ctx: Context, base: URL): string | null {
  if (!URL.canParse(`${base.protocol}//${ctx.host}`)) return null;
  const { host, hostname, port } = new URL(`${base.protocol}//${ctx.host}`);
  const isOther = host !== base.host && port === base.port && loopback.has(base.hostname) && loopback.has(hostname);
  return isOther ? base.origin + ctx.path + ctx.search : null;
}

/** What is not used by any page. */
const closed = ['accelerometer', 'camera', 'display-capture', 'geolocation', 'gyroscope', 'microphone', 'midi', 'payment', 'usb'];

/**
 * The people's client and the developer portal as files of the build, under a strict policy; any path of theirs answers the page, which finds out itself what
 * to show. `folder` holds the build; 503 while it holds none. An asset that is not there is 404. A browser gets the client for any other path too, with status
 * 404, except for paths of programs; those, and other callers, are left to others.
 */
export function servePages({ config }: Pick<ApiPlatform, 'config'>, folder: string = builtPages): Middleware<State> {
  const base = new URL(config.baseUrl);
  const tagOf = createTags(folder);
  const headers = {
    'Content-Security-Policy': policyOf(config.gatewayUrl),
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': closed.map((feature) => `${feature}=()`).join(', '),
  };
  return async (ctx, next) => {
    const known = builtOf(ctx.path);
    const isUnknown = opensPage(ctx) && (known === null || (known.kind === 'beside' && (await tagOf(known.file)) === null));
    const built: Built | null = isUnknown ? { file: 'index.html', kind: 'page' } : known;
    const tag = built && (await tagOf(built.file));
    if (!built || (tag === null && built.kind === 'beside')) return next();
    const { file, kind } = built;
    ctx.state.route = kind === 'asset' ? '/assets/{file}' : `/${file}`;
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') refuse('method_not_allowed', { allowed: 'GET' }, { allow: ['GET'] });
    if (tag === null && kind === 'asset') refuse('not_found', { what: 'file' });
    ctx.set(headers);
    if (tag === null) {
      ctx.status = 503;
      ctx.body = 'The pages are not built. Run `npm run build`.\n';
      return;
    }
    const elsewhere = kind === 'page' ? rightPlace(ctx, base) : null;
    if (elsewhere !== null) {
      ctx.status = 307;
      ctx.redirect(elsewhere);
      return;
    }
    if (isUnknown) ctx.set({ 'Cache-Control': 'no-store', Vary: 'Accept, Accept-Encoding' });
    else ctx.set({ 'Cache-Control': caching[kind], ETag: tag, Vary: 'Accept-Encoding' });
    ctx.status = isUnknown ? 404 : 200;
    if (ctx.fresh) ctx.status = 304;
    else await send(ctx, file, { root: folder });
    ctx.remove('Last-Modified');
  };
}
