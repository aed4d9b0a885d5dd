import { Registry } from 'prom-client';
import type { OpsPlatform } from '../../lib/store/platform.ts';
import { measureStores } from './store-metrics.ts';

/** Returns a function that measures the stores and returns Prometheus text. Calls at the same time share one measurement, so requests cannot add load. */
export function createStoreMetrics(platform: OpsPlatform): () => Promise<string> {
  let running: Promise<string> | null = null;
  const measure = async (): Promise<string> => {
    const registry = new Registry();
    await measureStores(platform, registry);
    return registry.metrics();
  };
  return () => {
    running ??= measure().finally(() => {
      running = null;
    });
    return running;
  };
}
