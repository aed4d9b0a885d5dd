import { LRUCache } from 'lru-cache';
import { limits } from '../base/limits.ts';
import { onConnectionLost, type RedisClient } from './redis.ts';

/** An answer that is kept in memory, and about how much it takes there. */
export interface CachedAnswer {
  readonly sizeBytes: number;
}

/** What a process keeps of what it has read, under access versions. Both are emptied when Redis was away; entries live 30 s. */
export interface Caches {
  /** Cached access data by server and account id, each entry with its version. */
  readonly cache: LRUCache<string, object>;
  /** Cached answers, each under the versions of what is in it: 64 MiB by their own `sizeBytes`. */
  readonly answers: LRUCache<string, CachedAnswer>;
}

const ttl = 30_000;

/** Empty caches that are emptied again whenever the connection to `redis` is lost; `most` entries of access data. */
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
