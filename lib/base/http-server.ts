import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Running } from './process.ts';

/**
 * Options of every HTTP server of ours: a request's headers may take 10 s, and connections are checked each second. Node checks them each 30 s by default, which is
 * how long `headersTimeout` may be exceeded.
 */
export const httpTimeouts = { headersTimeout: 10_000, connectionsCheckingInterval: 1_000 } as const;

/** A server that listens on `port`. */
export interface Listening extends Running {
  port: number;
}

/**
 * Lets `server` listen on `port` (0: any free port) of `host` (default: all interfaces); rejects when it cannot. `close` stops taking connections, lets requests
 * end, and closes each connection after its last, those without one at once. Upgraded connections are left to whoever upgraded them.
 */
export async function listen(server: Server, port: number, host?: string): Promise<Listening> {
  const open = new Set<ServerResponse>();
  // Browsers open connections ahead of need. Node takes one that brought no request yet for a busy one, and would wait for it.
  const unused = new Set<Socket>();
  server.prependListener('request', (request, response) => {
    response.shouldKeepAlive &&= server.listening;
    unused.delete(request.socket);
    open.add(response);
    response.once('close', () => open.delete(response));
  });
  server.on('upgrade', ({ socket }) => unused.delete(socket));
  server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const response of open) response.shouldKeepAlive = false;
        server.closeIdleConnections();
        for (const socket of unused) socket.destroy();
      }),
  };
}
