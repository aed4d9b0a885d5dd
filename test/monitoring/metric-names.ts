import { readFileSync } from 'node:fs';
import { collectDefaultMetrics } from 'prom-client';
import { createMetrics } from '../../lib/base/metrics.ts';

const files = ['apps/ops/store-metrics.ts', 'lib/store/monitoring.ts'];

/** The names of all metrics that processes serve: those that are registered, and those that are created when they are measured. */
export function listMetricNames(): Set<string> {
  const { registry } = createMetrics('api');
  collectDefaultMetrics({ register: registry });
  const created = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/'(parlance_\w+)'/g)].map(([, name]) => name ?? ''));
  return new Set([...registry.getMetricsAsArray().map(({ name }) => name), ...created]);
}

/** The names of metrics in a text, without the parts of a histogram's name. */
export function findMetricNames(text: string): Set<string> {
  const names = [...text.matchAll(/(?<![\w.=-])(parlance|process|nodejs)_\w+/g)].map(([name]) => name);
  return new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
}
