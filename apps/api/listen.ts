import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { httpTimeouts } from '../../lib/base/http-timeouts.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import type { Running } from '../../lib/base/process.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { createApp } from './app.ts';
import { routes } from './routes/index.ts';

/** A listening API. */
export interface Api extends Running {
  port: number;
}

/**
 * Serves every route on `config.PORT` (0: any free port). `close` stops taking connections, lets requests end, and closes each connection after its last,
 * those without one at once.
 */
export async function startApi(platform: ApiPlatform, metrics: Metrics): Promise<Api> {
  const answer = createApp(platform, metrics, routes).callback();
  const open = new Set<ServerResponse>();
  // Browsers open connections ahead of need. Node takes one that brought no request yet for a busy one, and would wait for it.
  const unused = new Set<Socket>();
  const server: Server = createServer({ keepAliveTimeout: 65_000, ...httpTimeouts, requestTimeout: 120_000 }, (request, response) => {
    response.shouldKeepAlive &&= server.listening;
    unused.delete(request.socket);
    open.add(response);
    response.once('close', () => open.delete(response));
    void answer(request, response);
  });
  server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(platform.config.PORT, resolve);
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
