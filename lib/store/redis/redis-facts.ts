import type { Redis } from 'ioredis';
import type { Logger } from '../../base/log.ts';
import { mastersOf, type RedisClient } from './redis.ts';

/** The settings and memory use of Redis that Parlance depends on (docs/guarantees.md#redis-settings). A `memoryMaxBytes` of 0 means no limit. */
export interface RedisFacts {
  memoryUsedBytes: number;
  memoryMaxBytes: number;
  evictionPolicy: string;
  appendOnly: boolean;
}

/** The fraction of its memory from which Redis counts as nearly full. */
const nearlyFull = 0.7;

async function readFactsOf(redis: Redis): Promise<RedisFacts> {
  const info = `${await redis.info('memory')}\n${await redis.info('persistence')}`;
  const value = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  return {
    memoryUsedBytes: Number(value('used_memory')),
    memoryMaxBytes: Number(value('maxmemory')),
    evictionPolicy: value('maxmemory_policy'),
    appendOnly: value('aof_enabled') === '1',
  };
}

const fullness = ({ memoryUsedBytes, memoryMaxBytes }: RedisFacts): number => (memoryMaxBytes > 0 ? memoryUsedBytes / memoryMaxBytes : 0);

/**
 * Reads the settings and memory use of Redis with INFO, because hosted services refuse CONFIG. For a cluster it asks all masters, and returns the memory of the
 * fullest one and the worst value of each setting. Rejects while Redis is away.
 */
export async function readRedisFacts(redis: RedisClient): Promise<RedisFacts> {
  const facts = await Promise.all(mastersOf(redis).map(readFactsOf));
  const [fullest] = facts.toSorted((a, b) => fullness(b) - fullness(a) || b.memoryUsedBytes - a.memoryUsedBytes);
  if (!fullest) throw new Error('no node of the Redis Cluster is connected');
  return {
    ...fullest,
    evictionPolicy: facts.find(({ evictionPolicy }) => evictionPolicy !== 'noeviction')?.evictionPolicy ?? 'noeviction',
    appendOnly: facts.every(({ appendOnly }) => appendOnly),
  };
}

/** Returns a warning for each problem of Redis, with what to do; empty when there is none. */
export function redisWarnings(facts: RedisFacts): string[] {
  const warnings: string[] = [];
  if (facts.evictionPolicy !== 'noeviction')
    warnings.push(
      `Redis may throw away jobs and sessions when it is full (maxmemory-policy ${facts.evictionPolicy}); set maxmemory-policy noeviction.`,
    );
  if (!facts.appendOnly) warnings.push('Redis forgets jobs and sessions when it restarts (appendonly no); set appendonly yes.');
  if (facts.memoryMaxBytes > 0 && facts.memoryUsedBytes >= facts.memoryMaxBytes * nearlyFull)
    warnings.push(
      `Redis uses ${Math.round((facts.memoryUsedBytes / facts.memoryMaxBytes) * 100)} % of its memory; raise maxmemory before it refuses writes.`,
    );
  return warnings;
}

interface Watched {
  redisFacts(): Promise<RedisFacts>;
  log: Logger;
}

/**
 * Logs a warning for each problem of Redis whose kind is not in `told`, and returns the kinds of the current problems. While Redis is away it returns `told`.
 */
export async function warnOfRedis(platform: Watched, told: ReadonlySet<string> = new Set()): Promise<ReadonlySet<string>> {
  const facts = await platform.redisFacts().catch(() => null);
  if (!facts) return told;
  const found = new Map(redisWarnings(facts).map((warning) => [warning.replace(/\d+/g, ''), warning]));
  for (const [kind, warning] of found) if (!told.has(kind)) platform.log.warn(warning);
  return new Set(found.keys());
}

/**
 * Checks Redis at once and then every 10 s, and logs new problems, such as memory that fills up (docs/guarantees.md#redis-settings). Resolves after the first
 * check.
 */
export async function watchRedis(platform: Watched, everyMs = 10_000): Promise<{ close(): void }> {
  let told = await warnOfRedis(platform);
  const timer = setInterval(() => {
    void warnOfRedis(platform, told).then((now) => {
      told = now;
    });
  }, everyMs);
  return { close: () => clearInterval(timer) };
}
