import { Redis } from 'ioredis';

/** The saved keys of an installation. */
export interface Snapshot {
  /** Restores the keys, like a restart of Redis that lost everything written since. */
  restore(): Promise<void>;
}

/** Takes a snapshot of the log under `prefix`. */
export async function takeSnapshot(redisUrl: string, prefix: string): Promise<Snapshot> {
  const redis = new Redis(redisUrl);
  const keysNow = async (): Promise<string[]> => {
    const found = new Set<string>();
    let cursor = '0';
    do {
      const [next, keys] = await redis.scan(cursor, 'MATCH', `{${prefix}-*`, 'COUNT', 10_000);
      for (const key of keys) found.add(key);
      cursor = next;
    } while (cursor !== '0');
    return [...found];
  };
  const saved = await Promise.all((await keysNow()).map(async (key) => [key, await redis.dumpBuffer(key), await redis.pttl(key)] as const));
  return {
    async restore() {
      const all = redis.multi().del('none', ...(await keysNow()));
      for (const [key, bytes, ttlMs] of saved) if (bytes) all.restore(key, Math.max(0, ttlMs), bytes);
      for (const [key] of saved) if (key.endsWith(':state')) all.hset(key, 'run', 'before');
      await all.exec();
      redis.disconnect();
    },
  };
}
