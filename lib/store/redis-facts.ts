import type { Redis } from 'ioredis';
import type { Logger } from '../base/log.ts';
import { mastersOf, type RedisClient } from './redis.ts';

/** The settings and memory of Redis that Parlance depends on (docs/guarantees.md#redis-settings). Sizes in bytes; `memoryMaxBytes` 0: no limit. */
export interface RedisFacts {
  memoryUsedBytes: number;
  memoryMaxBytes: number;
  evictionPolicy: string;
  appendOnly: boolean;
}

/** From which part of its memory on Redis is called nearly full. */
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
 * Asks Redis about itself; of a cluster the masters: the memory of the fullest, and of the rest what is worst. Rejects while it is away. By INFO, as hosted ones
 * refuse CONFIG.
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

/** What is wrong with such a Redis, each with what to do; empty when nothing is. */
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

/** Logs one warning for each thing that is wrong with Redis and not in `told`; nothing while it is away. Answers what is wrong now, by kind. */
export async function warnOfRedis(platform: Watched, told: ReadonlySet<string> = new Set()): Promise<ReadonlySet<string>> {
  const facts = await platform.redisFacts().catch(() => null);
  if (!facts) return told;
  const found = new Map(redisWarnings(facts).map((warning) => [warning.replace(/\d+/g, ''), warning]));
  for (const [kind, warning] of found) if (!told.has(kind)) platform.log.warn(warning);
  return new Set(found.keys());
}

/** Warns at once, then every 10 s of new problems of Redis, such as filling memory (docs/guarantees.md#redis-settings). Resolves after the first check. */
export async function watchRedis(platform: Watched, everyMs = 10_000): Promise<{ close(): void }> {
  let told = await warnOfRedis(platform);
  const timer = setInterval(() => {
    void warnOfRedis(platform, told).then((now) => {
      told = now;
    });
  }, everyMs);
  return { close: () => clearInterval(timer) };
}
