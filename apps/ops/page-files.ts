import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Middleware } from 'koa';

const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };

/** The folder into which `npm run build` writes the files: beside this file if it is compiled, else in `dist`. */
const folder = new URL(import.meta.url.endsWith('.ts') ? '../../dist/apps/ops/page/' : './page/', import.meta.url);

/** Serves the files of the overview below `/page/`. The answer is 404 if a file does not exist, and 503 if the page has not been built. */
export const pageFiles: Middleware = async (ctx, next) => {
  const [, name, extension] = /^\/page\/([a-z-]+)\.(js|css|svg)$/.exec(ctx.path) ?? [];
  if (name === undefined || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next();
  try {
    ctx.body = await readFile(fileURLToPath(new URL(`${name}.${extension}`, folder)));
    ctx.set('Content-Type', types[extension as keyof typeof types]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const built = await readFile(fileURLToPath(new URL('main.js', folder))).catch(() => null);
    if (built) return next();
    ctx.status = 503;
    ctx.body = 'The page has not been built. Run `npm run build`, then reload.\n';
  }
};
