import type { Config } from '../../config/index.ts';
import type { IdSource } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { type Caches, createCaches } from './caches.ts';
import { openKeyedDatabase } from './mongo/app-key.ts';
import type { Database } from './mongo/database.ts';
import { type AccessVersions, createAccessVersions } from './redis/access-versions.ts';
import { type Connections, createConnections } from './redis/log/connected.ts';
import { fixPartitions } from './redis/log/evidence.ts';
import { createKeys, type Keys } from './redis/log/keys.ts';
import { createLastNumber, type LastNumber } from './redis/log/retention.ts';
import { createMetricsFeeds, type MetricsFeeds } from './redis/metrics-feed.ts';
import { openIds } from './redis/node-lease.ts';
import { openRedis } from './redis/redis.ts';
import { type RedisFacts, readRedisFacts } from './redis/redis-facts.ts';

/** What every process can do: read and write the database, create ids, read and bump access versions, and ask which accounts are connected. */
export interface Platform extends Connections, Caches {
  readonly config: Config;
  readonly log: Logger;
  readonly db: Database;
  readonly ids: IdSource;
  readonly versions: AccessVersions;
  /** The process' clock, in Unix milliseconds. */
  now: () => number;
  lastNumber: LastNumber;
  /** Whether Redis answers now. */
  redisUp(): boolean;
  /** Makes a round trip to Redis for every partition. Rejects while Redis is away. */
  pingRedis(): Promise<void>;
  /** The settings and memory use of Redis. Rejects while Redis is away. */
  redisFacts(): Promise<RedisFacts>;
  /** Writes this process' metrics to Redis, where the operators' pages read them. Rejects while Redis is away. */
  readonly feedMetrics: MetricsFeeds['feedMetrics'];
  /** The time of the last heartbeat of any worker, in Unix milliseconds; null when there was none in the last minute. */
  workerBeatAt(): Promise<number | null>;
  close(): Promise<void>;
}

/** What every process opens. `keys`, `redis` and the metrics feeds are for the platforms in `platform.ts` only. */
export interface OpenedPlatform extends Platform, MetricsFeeds {
  readonly keys: Keys;
  readonly redis: Awaited<ReturnType<typeof openRedis>>;
}

/** Opens the database and Redis for a process of `role`. */
export async function openCommon(config: Config, log: Logger, role: string, cachedMost?: number): Promise<OpenedPlatform> {
  const keys = createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS);
  const redis = await openRedis(config, log, role);
  const db = await openKeyedDatabase(config, log).catch((error: unknown) => {
    redis.disconnect();
    throw error;
  });
  await fixPartitions(db, config.LOG_PARTITIONS).catch(async (error: unknown) => {
    redis.disconnect();
    await db.close();
    throw error;
  });
  const beatKey = `${keys.partition(0)}worker-beat`;
  const now = (): number => Date.now();
  const { ids, release } = await openIds(redis, keys, db, log, now);
  return {
    config,
    log,
    db,
    keys,
    redis,
    ...createCaches(redis, cachedMost),
    now,
    ids,
    versions: createAccessVersions(redis, keys, log),
    ...createConnections(redis, keys),
    lastNumber: createLastNumber(redis, keys),
    redisUp: () => redis.status === 'ready',
    pingRedis: async () => {
      await Promise.all(Array.from({ length: keys.partitions }, (_, k) => redis.exists(`${keys.partition(k)}state`)));
    },
    redisFacts: () => readRedisFacts(redis),
    ...createMetricsFeeds(redis, keys),
    workerBeatAt: async () => {
      const at = await redis.get(beatKey);
      return at === null ? null : Number(at);
    },
    close: async () => {
      await release();
      redis.disconnect();
      await db.close();
    },
  };
}
