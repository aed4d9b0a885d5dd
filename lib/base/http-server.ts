import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Running } from './process.ts';

/**
 * Options of every HTTP server: the headers of a request may take 10 s, and Node checks that every second. By default it checks every 30 s, so a request could
 * exceed `headersTimeout` by as much.
 */
export const httpTimeouts = { headersTimeout: 10_000, connectionsCheckingInterval: 1_000 } as const;

/** A server that listens on `port`. */
export interface Listening extends Running {
  port: number;
}

/**
 * Starts listening on `port` (0: any free port) of `host`. Rejects if that fails. `close` accepts no more connections, waits for the
 * running requests, and closes each connection after its last request, idle ones at once. It does not close upgraded connections.
 */
export async function listen(server: Server, port: number, host: string): Promise<Listening> {
  const open = new Set<ServerResponse>();
  // Browsers open connections in advance. Node treats a connection without a request as busy, so `server.close` would wait for it.
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
