import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { requests } from '../../../apps/api/middleware/request.ts';
import { servePages } from '../../../apps/api/pages.ts';
import type { State } from '../../../apps/api/state.ts';
import { createLog } from '../../../lib/base/log.ts';
import { createMetrics } from '../../../lib/base/metrics.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { testConfig } from '../../harness/stores.ts';

/** An answer with its bytes. */
export interface Got {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The BASE_URL of pages that are served for a test, unless it says another. */
export const base = 'http://localhost:8080';
/** Pages that are served. */
export interface Served {
  /** Asks for `path` exactly as it is written. */
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Got>;
  close(): Promise<void>;
}

/** Serves `folder` as the api does, with nothing behind it. */
export async function serve(folder: string, overrides: Record<string, string> = {}): Promise<Served> {
  const config = testConfig({ BASE_URL: base, GATEWAY_URL: 'wss://gate.example:9000/gateway', ...overrides });
  const platform = { config, log: createLog('api', 'silent') } as unknown as ApiPlatform;
  const app = new Koa<State>().use(requests(platform, createMetrics('api'))).use(servePages(platform, folder));
  app.silent = true;
  const answer = app.callback();
  const server: Server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    get: (path, headers = {}, method = 'GET') =>
      new Promise<Got>((resolve, reject) => {
        const asking = request({ port, host: '127.0.0.1', path, method, headers: { host: 'localhost:8080', ...headers }, agent: false });
        asking.once('error', reject).once('response', (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.once('error', reject);
          response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }));
        });
        asking.end();
      }),
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
