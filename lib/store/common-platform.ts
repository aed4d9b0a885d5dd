import type { Config } from '../../config/index.ts';
import type { IdSource } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { type AccessVersions, createAccessVersions } from './access-versions.ts';
import { openKeyedDatabase } from './app-key.ts';
import { type Caches, createCaches } from './caches.ts';
import type { Database } from './database.ts';
import { type Connections, createConnections } from './log/connected.ts';
import { fixPartitions } from './log/evidence.ts';
import { createKeys, type Keys } from './log/keys.ts';
import { createLastNumber, type LastNumber } from './log/retention.ts';
import { createMetricsFeeds, type MetricsFeeds } from './metrics-feed.ts';
import { openIds } from './node-lease.ts';
import { openRedis } from './redis.ts';
import { type RedisFacts, readRedisFacts } from './redis-facts.ts';

/** What every process may do: read and write the database, make ids, know versions, ask who is connected. */
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
  /** A round trip to Redis, for every partition; rejects when it is away. */
  pingRedis(): Promise<void>;
  /** How Redis is set up and how full it is; rejects when it is away. */
  redisFacts(): Promise<RedisFacts>;
  /** Leaves this process' measurements where the operators' pages read them; rejects when Redis is away. */
  readonly feedMetrics: MetricsFeeds['feedMetrics'];
  /** When a worker last said that it lives, in Unix milliseconds; null when none has in the last minute. */
  workerBeatAt(): Promise<number | null>;
  close(): Promise<void>;
}

/** What every process opens, and what only its own platform is given. */
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
