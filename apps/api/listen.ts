import { createServer, type Server } from 'node:http';
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

/** Serves every route on `config.PORT` (0: any free port). `close` stops taking connections, lets requests end, and closes idle connections. */
export async function startApi(platform: ApiPlatform, metrics: Metrics): Promise<Api> {
  const answer = createApp(platform, metrics, routes).callback();
  const server: Server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 10_000, requestTimeout: 120_000 },
    (request, response) => void answer(request, response),
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
        server.closeIdleConnections();
      }),
  };
}
