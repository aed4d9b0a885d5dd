import { AggregatorRegistry, Registry } from 'prom-client';
import type { OpsPlatform } from '../../lib/store/platform.ts';
import type { MetricJson } from '../../lib/store/redis/metrics-feed.ts';
import { measureStores } from './store-metrics.ts';

/** The metrics of every live process and of the stores, as Prometheus text. Never rejects: metrics that are unavailable are left out. */
export async function renderMetrics(platform: OpsPlatform): Promise<{ type: string; text: string }> {
  const stores = new Registry();
  const [feeds] = await Promise.all([platform.readMetricsFeeds().catch((): string[] => []), measureStores(platform, stores)]);
  const parts = feeds.map((feed) => JSON.parse(feed) as MetricJson[]);
  const all = AggregatorRegistry.aggregate([...parts, await stores.getMetricsAsJSON()]);
  return { type: all.contentType, text: await all.metrics() };
}
