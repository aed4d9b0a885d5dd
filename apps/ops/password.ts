import { createHash, timingSafeEqual } from 'node:crypto';
import type { Middleware } from 'koa';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Requires user `ops` and `password` by Basic auth, else answers 401. With an empty password everyone passes, because the pages are on loopback only then. */
export function requirePassword(password: string): Middleware {
  const expected = digest(`ops:${password}`);
  return async (ctx, next) => {
    const [, given = ''] = /^Basic ([A-Za-z0-9+/]+=*)$/i.exec(ctx.get('Authorization')) ?? [];
    // Digests have the same length, so the duration of the comparison reveals nothing.
    if (password === '' || timingSafeEqual(digest(Buffer.from(given, 'base64').toString()), expected)) return next();
    ctx.status = 401;
    ctx.set('WWW-Authenticate', 'Basic realm="Parlance operators", charset="UTF-8"');
    ctx.body = 'Log in as user ops with the password in OPS_PASSWORD.\n';
  };
}
