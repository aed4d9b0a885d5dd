import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { httpTimeouts, type Listening, listen } from '../../lib/base/http-server.ts';
import type { InternalPages } from '../../lib/base/internal-server.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { OpsPlatform } from '../../lib/store/platform.ts';
import { createApp } from './app.ts';
import { startCollector } from './measures/collector.ts';
import { createStoreMetrics } from './metrics.ts';

/** The running operators' pages. `renderMetrics` returns the metrics of the stores and of this process. */
export interface Ops extends Listening, Pick<InternalPages, 'renderMetrics'> {}

/** How the operators' pages are started. Default: own metrics, and a collection every 5 s. */
export interface OpsOptions {
  registry?: Registry;
  collectIntervalMs?: number;
}

/**
 * Serves the operators' pages on `config.OPS_PORT` (0: any free port), and collects the metrics of all processes for them. Without OPS_PASSWORD it listens on
 * loopback only (docs/operations.md#processes-and-ports).
 */
export async function startOps(
  platform: OpsPlatform,
  { registry = createMetrics('ops').registry, collectIntervalMs }: OpsOptions = {},
): Promise<Ops> {
  const { OPS_PORT, OPS_PASSWORD, HOST } = platform.config;
  const measureStores = createStoreMetrics(platform);
  const renderMetrics = async () => ({ type: registry.contentType, text: `${await measureStores()}\n${await registry.metrics()}` });
  const collector = startCollector(platform, measureStores, collectIntervalMs);
  const handle = createApp(platform, renderMetrics, collector).callback();
  const server = createServer({ ...httpTimeouts, requestTimeout: 30_000 }, (request, response) => void handle(request, response));
  try {
    const listening = await listen(server, OPS_PORT, OPS_PASSWORD ? HOST : '127.0.0.1');
    return { port: listening.port, renderMetrics, close: async () => void (await Promise.all([listening.close(), collector.close()])) };
  } catch (error) {
    await collector.close();
    throw error;
  }
}
