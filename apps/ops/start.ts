import { createServer } from 'node:http';
import { httpTimeouts, type Listening, listen } from '../../lib/base/http-server.ts';
import type { OpsPlatform } from '../../lib/store/platform.ts';
import { createApp } from './app.ts';

/**
 * Serves the operators' pages on `config.OPS_PORT` (0: any free port). Without OPS_PASSWORD it listens on loopback only
 * (docs/operations.md#processes-and-ports).
 */
export function startOps(platform: OpsPlatform): Promise<Listening> {
  const { OPS_PORT, OPS_PASSWORD } = platform.config;
  const handle = createApp(platform).callback();
  const server = createServer({ ...httpTimeouts, requestTimeout: 30_000 }, (request, response) => void handle(request, response));
  return listen(server, OPS_PORT, OPS_PASSWORD ? undefined : '127.0.0.1');
}
