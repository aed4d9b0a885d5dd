import { Gauge, type Registry } from 'prom-client';
import { measureWaiting } from '../../lib/domain/relay/relay.ts';
import type { OpsPlatform } from '../../lib/store/platform.ts';

/** The states of a job that are counted. */
const states = ['waiting', 'active', 'delayed', 'failed'] as const;
/** BullMQ's states of waiting jobs: without a priority, and with one. */
const waitingStates = ['waiting', 'prioritized'] as const;

type Labels = Record<string, string>;
type Measure = (name: string, help: string, values: readonly (readonly [value: number, labels?: Labels])[]) => void;

async function measureQueues(platform: OpsPlatform, measure: Measure): Promise<void> {
  const all = await Promise.all(
    platform.queues.map(async (queue) => {
      // In a queue that takes the newest job first, the oldest job is at the other end, so both ends are read.
      const ends = [true, false].flatMap((oldestFirst) => waitingStates.map((state) => queue.getJobs([state], 0, 0, oldestFirst)));
      const [counts, ...found] = await Promise.all([queue.getJobCounts(...states, ...waitingStates), ...ends]);
      const waitedMs = Math.max(0, ...found.flat().map((job) => platform.now() - job.timestamp));
      const counted: Record<string, number> = { ...counts, waiting: (counts.waiting ?? 0) + (counts.prioritized ?? 0) };
      return { queue: queue.name, counts: counted, waitedMs };
    }),
  );
  measure(
    'parlance_queue_jobs',
    'Jobs in a queue, by state.',
    all.flatMap(({ queue, counts }) => states.map((state) => [counts[state] ?? 0, { queue, state }] as const)),
  );
  measure(
    'parlance_queue_oldest_waiting_seconds',
    'Age of the oldest waiting job of a queue.',
    all.map(({ queue, waitedMs }) => [waitedMs / 1000, { queue }] as const),
  );
}

async function measureRedis(platform: OpsPlatform, measure: Measure): Promise<void> {
  const [facts, beatAt] = await Promise.all([platform.readRedisInfo(), platform.readWorkerHeartbeat()]);
  measure('parlance_redis_memory_used_bytes', 'Memory used by Redis.', [[facts.memoryUsedBytes]]);
  measure('parlance_redis_memory_max_bytes', 'Memory limit of Redis; 0 means no limit.', [[facts.memoryMaxBytes]]);
  measure('parlance_redis_noeviction', '1 if Redis evicts nothing when its memory is full, as required; otherwise 0.', [
    [facts.evictionPolicy === 'noeviction' ? 1 : 0],
  ]);
  measure('parlance_redis_aof', '1 if Redis persists its data (AOF), as required; otherwise 0.', [[facts.appendOnly ? 1 : 0]]);
  if (beatAt === null) return;
  const ageMs = Math.max(0, platform.now() - beatAt);
  measure('parlance_worker_beat_age_seconds', 'Time since the last heartbeat of a worker.', [[ageMs / 1000]]);
}

async function measureOutbox(platform: OpsPlatform, measure: Measure): Promise<void> {
  const { ageMs, count } = await measureWaiting(platform);
  measure('parlance_outbox_documents', 'Documents with stored events that have not been relayed yet; at most 1,000 of each kind.', [
    [count],
  ]);
  measure('parlance_outbox_age_seconds', 'Age of the oldest stored event that has not been relayed yet.', [[ageMs / 1000]]);
}

const up = (...parts: PromiseSettledResult<void>[]): number => (parts.every((part) => part.status === 'fulfilled') ? 1 : 0);

/** Adds the metrics of the stores to `registry`: queues, undelivered events and Redis. Metrics of an unavailable store are left out: see `parlance_up`. */
export async function measureStores(platform: OpsPlatform, registry: Registry): Promise<void> {
  // A gauge is created only when its values are known, because a gauge without a value is reported as 0.
  const measure: Measure = (name, help, values) => {
    const gauge = new Gauge({ name, help, labelNames: Object.keys(values[0]?.[1] ?? {}), registers: [registry] });
    for (const [value, labels] of values) gauge.set(labels ?? {}, value);
  };
  const [queues, redis, database] = await Promise.allSettled([
    measureQueues(platform, measure),
    measureRedis(platform, measure),
    measureOutbox(platform, measure),
  ]);
  measure('parlance_up', '1 if the store responded when these metrics were collected; otherwise 0.', [
    [up(queues, redis), { store: 'redis' }],
    [up(database), { store: 'database' }],
  ]);
}
