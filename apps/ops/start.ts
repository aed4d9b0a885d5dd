import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { httpTimeouts } from '../../lib/base/http-timeouts.ts';
import type { Running } from '../../lib/base/process.ts';
import type { OpsPlatform } from '../../lib/store/platform.ts';
import { createApp } from './app.ts';

/** The operators' pages, listening. */
export interface Ops extends Running {
  port: number;
}

/** Serves the operators' pages on `config.OPS_PORT` (0: any free port), on loopback only unless OPS_PASSWORD is set (decisions 9). */
export async function startOps(platform: OpsPlatform): Promise<Ops> {
  const { OPS_PORT, OPS_PASSWORD } = platform.config;
  const answer = createApp(platform).callback();
  const server = createServer({ ...httpTimeouts, requestTimeout: 30_000 }, (request, response) => void answer(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(OPS_PORT, OPS_PASSWORD ? undefined : '127.0.0.1', resolve);
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
