import { LRUCache } from 'lru-cache';
import { limits } from '../base/limits.ts';
import { onConnectionLost, type RedisClient } from './redis/redis.ts';

/** An answer that is cached in memory, with its approximate size there. */
export interface CachedResponse {
  readonly sizeBytes: number;
}

/** The caches of a process. Entries are valid for one access version and expire after 30 s. Both caches are cleared when the connection to Redis is lost. */
export interface Caches {
  /** Cached access data by server and account id, each entry with its version. */
  readonly accessCache: LRUCache<string, object>;
  /** Cached answers, each with the versions of the data in it; at most 64 MiB by their `sizeBytes`. */
  readonly responseCache: LRUCache<string, CachedResponse>;
}

/** How long an entry is kept, in milliseconds. */
export const cacheTtlMs = 30_000;

/** Creates empty caches, which are cleared whenever the connection to `redis` is lost. `maxEntries` is the maximum number of entries of access data. */
export function createCaches(redis: RedisClient, maxEntries = 10_000): Caches {
  const accessCache = new LRUCache<string, object>({ max: maxEntries, ttl: cacheTtlMs });
  const responseCache = new LRUCache<string, CachedResponse>({
    maxSize: limits.responseCacheBytes,
    sizeCalculation: ({ sizeBytes }) => sizeBytes,
    ttl: cacheTtlMs,
  });
  onConnectionLost(redis, () => {
    accessCache.clear();
    responseCache.clear();
  });
  return { accessCache, responseCache };
}
