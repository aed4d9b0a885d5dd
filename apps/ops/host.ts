import type { Middleware } from 'koa';

const local = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Without a password, answers only requests whose `Host` header is a local name with the port of the connection. Other requests get 421. Otherwise another site
 * could point its own host name at this machine and read these pages in an operator's browser (DNS rebinding).
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
