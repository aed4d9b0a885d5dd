import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from '../../lib/base/metrics.ts';
import type { Running } from '../../lib/base/process.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { createApp } from './app.ts';
import { routes } from './routes/index.ts';

/** A listening API. */
export interface Api extends Running {
  port: number;
}

/** Serves every route on `config.PORT` (0: any free port). `close` stops taking connections, lets requests end, and closes each connection after its last. */
export async function startApi(platform: ApiPlatform, metrics: Metrics): Promise<Api> {
  const answer = createApp(platform, metrics, routes).callback();
  const open = new Set<ServerResponse>();
  const server: Server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 10_000, requestTimeout: 120_000 },
    (request, response) => {
      response.shouldKeepAlive &&= server.listening;
      open.add(response);
      response.once('close', () => open.delete(response));
      void answer(request, response);
    },
  );
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
      }),
  };
}
