import { createServer } from 'node:http';
import { httpTimeouts, type Listening, listen } from '../../lib/base/http-server.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import { waitForOwnMarks } from '../../lib/domain/channels/reads.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { createApp } from './app.ts';
import { routes } from './routes/index.ts';

/** Serves every route on `config.PORT` (0: any free port) of `config.HOST`. `close` waits for running requests, and for read marks that are still being written. */
export async function startApi(platform: ApiPlatform, metrics: Metrics): Promise<Listening> {
  const handleRequest = createApp(platform, metrics, routes).callback();
  const timeouts = { ...httpTimeouts, keepAliveTimeout: 65_000, requestTimeout: 120_000 };
  const server = createServer(timeouts, (request, response) => void handleRequest(request, response));
  const listening = await listen(server, platform.config.PORT, platform.config.HOST);
  return {
    port: listening.port,
    async close() {
      await listening.close();
      await waitForOwnMarks();
    },
  };
}
