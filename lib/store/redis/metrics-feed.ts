import { randomBytes } from 'node:crypto';
import { collectDefaultMetrics, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';
import type { Keys } from './log/keys.ts';
import { bindScript, type RedisClient } from './redis.ts';

/** How often a process writes its metrics, in milliseconds. */
const intervalMs = 2_000;
/** After how many seconds the metrics of a process that stopped writing expire. */
const ttlSecs = 15;
/** The maximum number of processes whose metrics are read. */
const maxProcesses = 1_000;

/** A metric as prom-client's `getMetricsAsJSON` gives it. */
export type MetricJson = MetricObjectWithValues<MetricValue<string>>;

/** Writes the metrics of the process with the name `process` (`<role>:<instance>`). Rejects while Redis is unavailable. */
export type WriteMetrics = (process: string, metrics: string) => Promise<void>;

/** The metrics of all processes in Redis, for the operators' pages. */
export interface MetricsFeeds {
  readonly writeMetrics: WriteMetrics;
  /** Reads the last metrics of every live process, as it wrote them. Rejects while Redis is unavailable. */
  readMetricsFeeds(): Promise<string[]>;
}

// Entries of the list of processes expire by Redis' clock, because the clocks of hosts may differ. Expired ones are removed here, so the list stays small even
// if nobody reads it.
const lua = `
local now, life = tonumber(redis.call('TIME')[1]), tonumber(ARGV[2])
redis.call('SET', KEYS[1], ARGV[1], 'EX', life)
redis.call('ZADD', KEYS[2], now + life, KEYS[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('EXPIRE', KEYS[2], life * 4)
`;

/** Binds the feeds of one installation to `redis`. */
export function createMetricsFeeds(redis: RedisClient, keys: Keys): MetricsFeeds {
  const script = bindScript<null>(redis, 'parlanceFeed', lua);
  const prefix = `${keys.partitionPrefix(0)}metrics:`;
  return {
    writeMetrics: async (process, metrics) => {
      await script([prefix + process, `${prefix}all`], [metrics, ttlSecs]);
    },
    readMetricsFeeds: async () => {
      const names = await redis.zrange(`${prefix}all`, '0', String(maxProcesses - 1));
      return names.length ? (await redis.mget(names)).filter((one) => one !== null) : [];
    },
  };
}

/** Adds the label `process` to every value. Sums over all processes would not be valid counters, because each restart would look like a reset. */
const addProcessLabel = (metrics: readonly MetricJson[], process: string): MetricJson[] =>
  metrics.map((metric) => ({ ...metric, values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, process } })) }));

/**
 * Adds the metrics of this process (memory, CPU, event loop) to `registry` and writes everything in `registry` to Redis every 2 s under the name
 * `<role>:<random>`, for the operators' pages. While Redis is unavailable it writes nothing and logs nothing. `close` waits for the write in progress.
 */
export function startMetricsFeed(platform: { writeMetrics: WriteMetrics }, role: string, registry: Registry): { close(): Promise<void> } {
  const name = `${role}:${randomBytes(6).toString('hex')}`;
  collectDefaultMetrics({ register: registry });
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const write = async (): Promise<void> => {
    try {
      await platform.writeMetrics(name, JSON.stringify(addProcessLabel(await registry.getMetricsAsJSON(), name)));
    } catch {
      // Redis is unavailable; the next write contains the same counters
    }
    if (!isClosed) timer = setTimeout(writeNext, intervalMs);
  };
  let currentWrite: Promise<void> = Promise.resolve();
  const writeNext = (): void => {
    currentWrite = write();
  };
  writeNext();
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await currentWrite;
    },
  };
}
