import { createServer } from 'node:http';
import { httpTimeouts, type Listening, listen } from '../../lib/base/http-server.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { createApp } from './app.ts';
import { routes } from './routes/index.ts';

/** Serves every route on `config.PORT` (0: any free port). `close` lets requests end. */
export function startApi(platform: ApiPlatform, metrics: Metrics): Promise<Listening> {
  const answer = createApp(platform, metrics, routes).callback();
  const timeouts = { ...httpTimeouts, keepAliveTimeout: 65_000, requestTimeout: 120_000 };
  return listen(
    createServer(timeouts, (request, response) => void answer(request, response)),
    platform.config.PORT,
  );
}
