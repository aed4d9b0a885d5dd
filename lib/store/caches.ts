import { LRUCache } from 'lru-cache';
import { limits } from '../base/limits.ts';
import { onConnectionLost, type RedisClient } from './redis/redis.ts';

/** An answer that is cached in memory, with its approximate size there. */
export interface CachedAnswer {
  readonly sizeBytes: number;
}

/** The caches of a process. Entries are valid for one access version and expire after 30 s. Both caches are cleared when the connection to Redis is lost. */
export interface Caches {
  /** Cached access data by server and account id, each entry with its version. */
  readonly cache: LRUCache<string, object>;
  /** Cached answers, each with the versions of the data in it; at most 64 MiB by their `sizeBytes`. */
  readonly answers: LRUCache<string, CachedAnswer>;
}

const ttl = 30_000;

/** Creates empty caches, which are cleared whenever the connection to `redis` is lost. `most` is the maximum number of entries of access data. */
export function createCaches(redis: RedisClient, most = 10_000): Caches {
  const cache = new LRUCache<string, object>({ max: most, ttl });
  const answers = new LRUCache<string, CachedAnswer>({
    maxSize: limits.cachedAnswersBytes,
    sizeCalculation: ({ sizeBytes }) => sizeBytes,
    ttl,
  });
  onConnectionLost(redis, () => {
    cache.clear();
    answers.clear();
  });
  return { cache, answers };
}
