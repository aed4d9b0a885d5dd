import type { Redis } from 'ioredis';
import type { Logger } from '../../base/log.ts';
import { listMasters, type RedisClient } from './redis.ts';

/** The settings and memory use of Redis that Parlance depends on (docs/guarantees.md#redis-settings). A `memoryMaxBytes` of 0 means no limit. */
export interface RedisInfo {
  memoryUsedBytes: number;
  memoryMaxBytes: number;
  evictionPolicy: string;
  appendOnly: boolean;
}

/** The fraction of its memory from which Redis counts as nearly full. */
const nearlyFullFraction = 0.7;

async function readNodeInfo(redis: Redis): Promise<RedisInfo> {
  const text = `${await redis.info('memory')}\n${await redis.info('persistence')}`;
  const readValue = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1] ?? '';
  return {
    memoryUsedBytes: Number(readValue('used_memory')),
    memoryMaxBytes: Number(readValue('maxmemory')),
    evictionPolicy: readValue('maxmemory_policy'),
    appendOnly: readValue('aof_enabled') === '1',
  };
}

const getFullness = ({ memoryUsedBytes, memoryMaxBytes }: RedisInfo): number => (memoryMaxBytes > 0 ? memoryUsedBytes / memoryMaxBytes : 0);

/**
 * Reads the settings and memory use of Redis with INFO, because hosted services refuse CONFIG. For a cluster it asks all masters, and returns the memory of the
 * fullest one and the worst value of each setting. Rejects while Redis is unavailable.
 */
export async function readRedisInfo(redis: RedisClient): Promise<RedisInfo> {
  const info = await Promise.all(listMasters(redis).map(readNodeInfo));
  const [fullest] = info.toSorted((a, b) => getFullness(b) - getFullness(a) || b.memoryUsedBytes - a.memoryUsedBytes);
  if (!fullest) throw new Error('no node of the Redis Cluster is connected');
  return {
    ...fullest,
    evictionPolicy: info.find(({ evictionPolicy }) => evictionPolicy !== 'noeviction')?.evictionPolicy ?? 'noeviction',
    appendOnly: info.every(({ appendOnly }) => appendOnly),
  };
}

/** Returns a warning for each problem of Redis, with what to do; empty when there is none. */
export function listRedisWarnings(info: RedisInfo): string[] {
  const warnings: string[] = [];
  if (info.evictionPolicy !== 'noeviction')
    warnings.push(
      `Redis may evict jobs and sessions when its memory is full (maxmemory-policy ${info.evictionPolicy}); set maxmemory-policy noeviction.`,
    );
  if (!info.appendOnly) warnings.push('Redis loses jobs and sessions when it restarts (appendonly no); set appendonly yes.');
  if (info.memoryMaxBytes > 0 && info.memoryUsedBytes >= info.memoryMaxBytes * nearlyFullFraction)
    warnings.push(
      `Redis uses ${Math.round((info.memoryUsedBytes / info.memoryMaxBytes) * 100)} % of its memory; increase maxmemory before Redis refuses writes.`,
    );
  return warnings;
}

interface WatchedPlatform {
  readRedisInfo(): Promise<RedisInfo>;
  log: Logger;
}

/**
 * Logs a warning for each problem of Redis whose kind is not in `loggedKinds`, and returns the kinds of the current problems. While Redis is unavailable it
 * returns `loggedKinds`.
 */
export async function logRedisWarnings(
  platform: WatchedPlatform,
  loggedKinds: ReadonlySet<string> = new Set(),
): Promise<ReadonlySet<string>> {
  const info = await platform.readRedisInfo().catch(() => null);
  if (!info) return loggedKinds;
  const warningsByKind = new Map(listRedisWarnings(info).map((warning) => [warning.replace(/\d+/g, ''), warning]));
  for (const [kind, warning] of warningsByKind) if (!loggedKinds.has(kind)) platform.log.warn(warning);
  return new Set(warningsByKind.keys());
}

/**
 * Checks Redis at once and then every 10 s, and logs new problems, such as memory that fills up (docs/guarantees.md#redis-settings). Resolves after the first
 * check.
 */
export async function watchRedis(platform: WatchedPlatform, intervalMs = 10_000): Promise<{ close(): void }> {
  let loggedKinds = await logRedisWarnings(platform);
  const timer = setInterval(() => {
    void logRedisWarnings(platform, loggedKinds).then((currentKinds) => {
      loggedKinds = currentKinds;
    });
  }, intervalMs);
  return { close: () => clearInterval(timer) };
}
