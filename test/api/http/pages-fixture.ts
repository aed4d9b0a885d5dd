import { type IncomingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import Koa from 'koa';
import { servePages } from '../../../apps/api/middleware/pages.ts';
import { createRequestMiddleware } from '../../../apps/api/middleware/request.ts';
import type { State } from '../../../apps/api/state.ts';
import { createLog } from '../../../lib/base/log.ts';
import { createMetrics } from '../../../lib/base/metrics.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { startSite } from '../../harness/site.ts';
import { testConfig } from '../../harness/stores.ts';

/** A response with its body as bytes. */
export interface PageAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The default BASE_URL of served pages. */
export const base = 'http://localhost:8080';
/** A server of pages. */
export interface PageServer {
  /** Requests `path` exactly as it is written. */
  get(path: string, headers?: Record<string, string>, method?: string): Promise<PageAnswer>;
  close(): Promise<void>;
}

/** Serves the pages in `folder` as the API does, without its routes. */
export async function startPageServer(folder: string, overrides: Record<string, string> = {}): Promise<PageServer> {
  const config = testConfig({ BASE_URL: base, GATEWAY_URL: 'wss://gate.example:9000/gateway', ...overrides });
  const platform = { config, log: createLog('api', 'silent') } as ApiPlatform;
  const app = new Koa<State>().use(createRequestMiddleware(platform, createMetrics('api'))).use(servePages(platform, folder));
  app.silent = true;
  const answer = app.callback();
  const { port, close } = await startSite((incoming, outgoing) => void answer(incoming, outgoing));
  return {
    close,
    get: (path, headers = {}, method = 'GET') =>
      new Promise<PageAnswer>((resolve, reject) => {
        const asking = request({ port, host: '127.0.0.1', path, method, headers: { host: 'localhost:8080', ...headers }, agent: false });
        asking.once('error', reject).once('response', (response) => {
          const { statusCode: status = 0, headers: received } = response;
          void buffer(response).then((body) => resolve({ status, headers: received, body }), reject);
        });
        asking.end();
      }),
  };
}
