import type { Middleware } from 'koa';

const local = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Without a password answers only requests whose `Host` is a local name with the port they came in on; others get 421. A page of another site could otherwise
 * read these pages in an operator's browser, by a name that it points at this machine.
 */
export function requireLocalHost(password: string): Middleware {
  return async (ctx, next) => {
    const port = ctx.req.socket.localPort;
    const { host = '' } = ctx.req.headers;
    if (password !== '' || local.some((name) => host.toLowerCase() === `${name}:${port}`)) return next();
    ctx.status = 421;
    ctx.body = `Open these pages at http://localhost:${port}, or set OPS_PASSWORD to open them under another name.\n`;
  };
}
