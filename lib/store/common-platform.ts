import type { Config } from '../../config/index.ts';
import type { IdSource } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { openTracing } from '../base/open-tracing.ts';
import { noTracing, type Tracing } from '../base/tracing.ts';
import { type Caches, createCaches } from './caches.ts';
import { openCheckedDatabase } from './mongo/app-key.ts';
import type { Database } from './mongo/database.ts';
import { checkPartitions, createLogState, type LogState } from './mongo/log-state.ts';
import { type AccessVersions, createAccessVersions } from './redis/access-versions.ts';
import { type Connections, createConnections } from './redis/connections.ts';
import { createKeys, type Keys } from './redis/log/keys.ts';
import { createReadLastNumber, type ReadLastNumber } from './redis/log/retention.ts';
import { openIds } from './redis/node-lease.ts';
import { createProcessAddresses, type ProcessAddresses } from './redis/process-addresses.ts';
import { openRedis } from './redis/redis.ts';
import { type RedisInfo, readRedisInfo } from './redis/redis-info.ts';
import { createServerChanges, type ServerChanges } from './redis/server-changes.ts';
import { heartbeatKey } from './redis/worker-shares.ts';

/** What every process can do: read and write the database, create ids, read and bump access versions, and ask which accounts are connected. */
export interface Platform extends Caches, Pick<ProcessAddresses, 'registerProcess' | 'unregisterProcess'> {
  readonly config: Config;
  readonly log: Logger;
  readonly db: Database;
  readonly ids: IdSource;
  readonly accessVersions: AccessVersions;
  readonly serverChanges: ServerChanges;
  readonly logState: LogState;
  readonly tracing: Tracing;
  readonly connections: Connections;
  /** The process' clock, in Unix milliseconds. */
  now: () => number;
  readLastNumber: ReadLastNumber;
  /** Whether Redis answers now. */
  isRedisUp(): boolean;
  /** Makes a round trip to Redis for every partition. Rejects while Redis is unavailable. */
  pingRedis(): Promise<void>;
  /** The settings and memory use of Redis. Rejects while Redis is unavailable. */
  readRedisInfo(): Promise<RedisInfo>;
  /** The time of the last heartbeat of any worker, in Unix milliseconds; null when there was none in the last minute. */
  readWorkerHeartbeat(): Promise<number | null>;
  close(): Promise<void>;
}

/** What every process opens. `keys`, `redis` and the list of processes are for the platforms in `platform.ts` only. */
export interface OpenedPlatform extends Platform, ProcessAddresses {
  readonly keys: Keys;
  readonly redis: Awaited<ReturnType<typeof openRedis>>;
}

/** The roles whose work belongs to traces. */
const tracedRoles = ['api', 'gateway', 'worker'];

/** Opens the traces of a process of `role`, if it has any. */
function openTracingOf(role: string, config: Config, log: Logger): Promise<Tracing> {
  const { tracesUrl: url, OTEL_EXPORTER_OTLP_HEADERS: headers, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio } = config;
  const serviceName = config.OTEL_SERVICE_NAME || `parlance-${role}`;
  return tracedRoles.includes(role) ? openTracing({ url, headers, serviceName, sampler, ratio }, log) : Promise.resolve(noTracing);
}

/** Opens the database and Redis for a process of `role`. */
export async function openCommonPlatform(config: Config, log: Logger, role: string, maxCached?: number): Promise<OpenedPlatform> {
  const keys = createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS);
  const redis = await openRedis(config, log, role);
  const db = await openCheckedDatabase(config, log).catch((error: unknown) => {
    redis.disconnect();
    throw error;
  });
  await checkPartitions(db, config.LOG_PARTITIONS).catch(async (error: unknown) => {
    redis.disconnect();
    await db.close();
    throw error;
  });
  const now = (): number => Date.now();
  const { ids, release } = await openIds(redis, keys, db, log, now);
  const tracing = await openTracingOf(role, config, log);
  const serverChanges = createServerChanges(redis, keys, ids, config.STORE_TIMEOUT_FACTOR);
  return {
    config,
    log,
    db,
    keys,
    redis,
    ...createCaches(redis, maxCached),
    now,
    ids,
    tracing,
    serverChanges,
    logState: createLogState(db),
    accessVersions: createAccessVersions(redis, keys, log, serverChanges),
    connections: createConnections(redis, keys),
    readLastNumber: createReadLastNumber(redis, keys),
    isRedisUp: () => redis.status === 'ready',
    pingRedis: async () => {
      await Promise.all(Array.from({ length: keys.partitions }, (_, partition) => redis.exists(`${keys.partitionPrefix(partition)}state`)));
    },
    readRedisInfo: () => readRedisInfo(redis),
    ...createProcessAddresses(redis, keys),
    readWorkerHeartbeat: async () => {
      const beatAt = await redis.get(heartbeatKey(keys));
      return beatAt === null ? null : Number(beatAt);
    },
    close: async () => {
      await tracing.close();
      await release();
      redis.disconnect();
      await db.close();
    },
  };
}
