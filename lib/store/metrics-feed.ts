import { randomBytes } from 'node:crypto';
import { collectDefaultMetrics, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';
import type { Keys } from './log/keys.ts';
import { bindScript, type RedisClient } from './redis.ts';

/** How often a process writes its measurements, in milliseconds. */
const everyMs = 2_000;
/** After how many seconds the measurements of a process that stopped writing are gone. */
const lifeSecs = 15;
/** The most processes that are read at once. */
const processesMax = 1_000;

/** A metric as prom-client's `getMetricsAsJSON` gives it. */
export type MetricJson = MetricObjectWithValues<MetricValue<string>>;

/** Writes the measurements of the process named `process` (`<role>:<instance>`). Rejects while Redis is away. */
export type FeedMetrics = (process: string, metrics: string) => Promise<void>;

/** Where processes leave their measurements for the operators' pages. */
export interface MetricsFeeds {
  readonly feedMetrics: FeedMetrics;
  /** The measurements of every process that lives, as it wrote them. Rejects while Redis is away. */
  readMetricsFeeds(): Promise<string[]>;
}

// The list of processes is kept by Redis' clock, so that hosts with different clocks agree, and what nobody reads stays small.
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
  const prefix = `${keys.partition(0)}metrics:`;
  return {
    feedMetrics: async (process, metrics) => {
      await script([prefix + process, `${prefix}all`], [metrics, lifeSecs]);
    },
    readMetricsFeeds: async () => {
      const names = await redis.zrange(`${prefix}all`, '0', String(processesMax - 1));
      return names.length ? (await redis.mget(names)).filter((one) => one !== null) : [];
    },
  };
}

/** `metrics` with the label `process` on every value: sums over processes that come and go would not be counters (a restart looks like a reset). */
const labelled = (metrics: readonly MetricJson[], process: string): MetricJson[] =>
  metrics.map((metric) => ({ ...metric, values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, process } })) }));

/**
 * Measures this process too (memory, CPU, event loop) and writes everything in `registry` every 2 s under `<role>:<random>`, where the operators' pages
 * read it. While Redis is away it writes nothing and says nothing. `close` ends the write under way.
 */
export function startMetricsFeed(platform: { feedMetrics: FeedMetrics }, role: string, registry: Registry): { close(): Promise<void> } {
  const name = `${role}:${randomBytes(6).toString('hex')}`;
  collectDefaultMetrics({ register: registry });
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const write = async (): Promise<void> => {
    try {
      await platform.feedMetrics(name, JSON.stringify(labelled(await registry.getMetricsAsJSON(), name)));
    } catch {
      // Redis is away; the next write tells as much
    }
    if (!closed) timer = setTimeout(next, everyMs);
  };
  let under: Promise<void> = Promise.resolve();
  const next = (): void => {
    under = write();
  };
  next();
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await under;
    },
  };
}
