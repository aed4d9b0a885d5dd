import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { send } from '@koa/send';
import type { Context, Middleware } from 'koa';
import { refuse } from '../../../lib/base/errors.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import type { State } from '../state.ts';

/** The folder of the web build, `dist/web/`. It is the same whether the compiled code or the TypeScript sources run. */
const webBuildFolder = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../../dist/web/' : '../../../web/', import.meta.url));

/** The first segments of the web client's paths. Each of these paths, and `/`, serves the client's only page. */
export const clientPaths = [
  'login',
  'register',
  'invite',
  'servers',
  'dms',
  'discovery',
  'apps',
  'settings',
  'reset-password',
  'sign-in',
] as const;

const isClientPath = (firstSegment: string): boolean => (clientPaths as readonly string[]).includes(firstSegment);

/** The Content-Security-Policy of pages: a page may only load from and connect to its own origin, and connect to the gateway. */
function createContentSecurityPolicy(gatewayUrl: string): string {
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

/**
 * A file of the web build. `asset`: a script, style or other file that pages load. `icon`: a file next to the pages, such as the icon. `kit`: a package for
 * developers of bots. `markdown`: a guide as Markdown.
 */
interface WebFile {
  file: string;
  kind: 'page' | 'asset' | 'icon' | 'kit' | 'markdown';
  /** The page that is sent if the file does not exist. */
  otherwise?: string;
}

/** `Cache-Control` of each kind. Pages, guides and kits are revalidated each time. Assets never change, because their names contain a hash of their content. */
const cacheControl = {
  page: 'no-cache',
  asset: 'public, max-age=31536000, immutable',
  icon: 'public, max-age=86400',
  kit: 'no-cache',
  markdown: 'no-cache',
};

/** The file of the web build that a path names, or null. Only plain names match: no percent-encoding, and dots only before file extensions. */
function findWebFile(path: string): WebFile | null {
  const [, firstSegment = ''] = path.split('/', 2);
  if (path === '/' || isClientPath(firstSegment)) return { file: 'index.html', kind: 'page' };
  const [, guide, extension] = /^\/developers\/guides\/([\w-]+)(\.md)?$/.exec(path) ?? [];
  if (guide !== undefined && extension !== undefined) return { file: `guides/${guide}.md`, kind: 'markdown' };
  if (guide !== undefined) return { file: `guides/${guide}.html`, kind: 'page', otherwise: 'reference.html' };
  if (/^\/developers\/guides\/?$/.test(path)) return { file: 'guides/index.html', kind: 'page', otherwise: 'reference.html' };
  if (/^\/developers\/(?:reference|guides)(?:\/|$)/.test(path)) return { file: 'reference.html', kind: 'page' };
  const [, kit] = /^\/developers\/kits\/([\w-][\w.-]*\.(?:tgz|whl))$/.exec(path) ?? [];
  if (kit !== undefined) return { file: `kits/${kit}`, kind: 'kit' };
  if (firstSegment === 'developers') return { file: 'developers.html', kind: 'page' };
  if (/^\/assets\/[\w-]+(?:\.[\w-]+)+$/.test(path) && !/\.(?:br|gz)$/.test(path)) return { file: path.slice(1), kind: 'asset' };
  return /^\/[\w-]+\.(?:svg|png|ico|webmanifest)$/.test(path) ? { file: path.slice(1), kind: 'icon' } : null;
}

/** Whether a path is used by programs. Unknown paths of these kinds are 404 as JSON, even in a browser, but for a link to a file. */
export const isForPrograms = (path: string): boolean => /^\/(?:api|files|images|assets|gateway)(?:\/|$)/.test(path);

/** Whether a browser opens the path as a page: the request prefers HTML to JSON. */
export const isPageRequest = (ctx: Context): boolean =>
  (ctx.method === 'GET' || ctx.method === 'HEAD') && ctx.accepts('json', 'html') === 'html';

/**
 * Returns a function that returns the ETag of a file in `folder`, or null if there is no such file. The ETag is a hash of the content, so that nodes that were
 * installed at different times return the same one. A file is read again only when its modification time has changed.
 */
function createEtagReader(folder: string): (file: string) => Promise<string | null> {
  const knownEtags = new Map<string, { at: number; etag: string }>();
  return async (file) => {
    const path = join(folder, file);
    const stats = await stat(path).catch(() => null);
    if (!stats?.isFile()) return null;
    const cached = knownEtags.get(file);
    if (cached?.at === stats.mtimeMs) return cached.etag;
    // The ETag is weak, because the compressed files are sent with the same one.
    const etag = `W/"${createHash('sha256')
      .update(await readFile(path))
      .digest('base64url')}"`;
    knownEtags.set(file, { at: stats.mtimeMs, etag });
    return etag;
  };
}

/** Names of the local machine. The cookie and `Origin` are only valid for the one in the public address. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** If the request uses another name of the local machine than the public address, returns the URL to redirect to, else null. */
function findCanonicalUrl(ctx: Context, publicUrl: URL): string | null {
  if (!URL.canParse(`${publicUrl.protocol}//${ctx.host}`)) return null;
  const { host, hostname, port } = new URL(`${publicUrl.protocol}//${ctx.host}`);
  const isOtherName = host !== publicUrl.host && port === publicUrl.port && loopback.has(publicUrl.hostname) && loopback.has(hostname);
  return isOtherName ? publicUrl.origin + ctx.path + ctx.search : null;
}

/** Browser features that no page uses. */
const disabledFeatures = ['accelerometer', 'camera', 'display-capture', 'geolocation', 'gyroscope', 'microphone', 'midi', 'payment', 'usb'];

/**
 * Serves the web client, the developer portal and the reference from the web build in `folder`, with a strict Content-Security-Policy. Each path of theirs returns the page,
 * which decides what to show. The answer is 503 while `folder` contains no build, and 404 for an unknown asset. For any other unknown path a browser gets the
 * client's page with status 404. Paths of programs, and requests that do not prefer HTML, go to the next middleware.
 */
export function servePages({ config }: Pick<ApiPlatform, 'config'>, folder: string = webBuildFolder): Middleware<State> {
  const publicUrl = new URL(config.baseUrl);
  const readEtag = createEtagReader(folder);
  const headers = {
    'Content-Security-Policy': createContentSecurityPolicy(config.gatewayUrl),
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': disabledFeatures.map((feature) => `${feature}=()`).join(', '),
  };
  return async (ctx, next) => {
    const knownFile = findWebFile(ctx.path);
    const isUnknown =
      isPageRequest(ctx) &&
      (!isForPrograms(ctx.path) || ctx.state.isMissingFile === true) &&
      (knownFile === null || (knownFile.kind === 'icon' && (await readEtag(knownFile.file)) === null));
    const namedFile: WebFile | null = isUnknown ? { file: 'index.html', kind: 'page' } : knownFile;
    const isThere = namedFile?.otherwise === undefined || (await readEtag(namedFile.file)) !== null;
    const webFile: WebFile | null = isThere ? namedFile : { file: namedFile.otherwise as string, kind: 'page' };
    const etag = webFile && (await readEtag(webFile.file));
    if (!webFile || (etag === null && webFile.kind === 'icon')) return next();
    const { file, kind } = webFile;
    const routes: Partial<Record<WebFile['kind'], string>> = {
      asset: '/assets/{file}',
      kit: '/developers/kits/{file}',
      markdown: '/developers/guides/{file}',
    };
    ctx.state.route = routes[kind] ?? (file.startsWith('guides/') ? '/developers/guides/{guide}' : `/${file}`);
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') refuse('method_not_allowed', { allowed: 'GET' }, { allow: ['GET'] });
    if (etag === null && (kind === 'asset' || kind === 'kit' || kind === 'markdown')) refuse('not_found', { what: 'file' });
    ctx.set(headers);
    if (etag === null) {
      ctx.status = 503;
      ctx.body = 'The pages are not built. Run `npm run build`.\n';
      return;
    }
    const redirectUrl = kind === 'page' ? findCanonicalUrl(ctx, publicUrl) : null;
    if (redirectUrl !== null) {
      ctx.status = 307;
      ctx.redirect(redirectUrl);
      return;
    }
    if (isUnknown) ctx.set({ 'Cache-Control': 'no-store', Vary: 'Accept, Accept-Encoding' });
    else ctx.set({ 'Cache-Control': cacheControl[kind], ETag: etag, Vary: 'Accept-Encoding' });
    ctx.status = isUnknown ? 404 : 200;
    if (ctx.fresh) ctx.status = 304;
    else await send(ctx, file, { root: folder });
    ctx.remove('Last-Modified');
  };
}
