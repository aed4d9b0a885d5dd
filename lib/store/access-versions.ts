import type { Redis } from 'ioredis';
import type { Logger } from '../base/log.ts';
import type { Keys } from './bus/keys.ts';
import type { Control } from './bus/topics.ts';

/** How long a version key lives without a change, in seconds: far longer than any cached entry (30 s). */
const keptSecs = 3_600;

/**
 * Versions of access data (quality 2, "Access in one round trip"). A server's version covers its roles, channels, overwrites and members; an account's
 * covers its profile and credentials. Whoever caches such data keeps it under its version.
 */
export interface AccessVersions {
  /** The versions of these servers and accounts, in order; null while Redis is away, and then nothing may be cached or taken from a cache. */
  read(ids: readonly string[]): Promise<string[] | null>;
  /** Runs `write` with the versions bumped before and after it, and tells gateway nodes about `accounts`. Answers when the second bump is done. */
  changing<T>(
    what: { servers?: readonly string[]; accounts?: readonly string[]; credentials?: boolean },
    write: () => Promise<T>,
  ): Promise<T>;
}

/** The Redis key of a version, in every shard. */
export const versionKey = (keys: Keys, shard: number, id: string): string => `${keys.shard(shard)}v:${id}`;

/** Binds the versions to `redis`. Bumps that fail are made good when the connection is back. */
export function createAccessVersions(redis: Redis, keys: Keys, log: Logger): AccessVersions {
  const owed = new Set<string>();
  const bump = async (ids: Iterable<string>, say: Control[] = []): Promise<void> => {
    const pipeline = redis.multi();
    for (const id of ids)
      for (let shard = 0; shard < keys.shards; shard++) {
        const key = versionKey(keys, shard, id);
        pipeline.incr(key);
        pipeline.expire(key, keptSecs);
      }
    for (const message of say)
      if (message.kind === 'access') pipeline.publish(keys.topic(`user:${message.accountId}`), JSON.stringify(message));
    await pipeline.exec();
  };
  redis.on('ready', () => {
    if (owed.size === 0) return;
    const ids = [...owed];
    owed.clear();
    bump(ids).catch(() => {
      for (const id of ids) owed.add(id);
    });
  });
  return {
    async read(ids) {
      if (redis.status !== 'ready') return null;
      try {
        return (await redis.mget(ids.map((id) => versionKey(keys, 0, id)))).map((version) => version ?? '0');
      } catch {
        return null;
      }
    },
    async changing({ servers = [], accounts = [], credentials = false }, write) {
      const ids = [...servers, ...accounts];
      const say = accounts.map((accountId): Control => ({ kind: 'access', accountId, ...(credentials ? { credentials } : {}) }));
      await bump(ids).catch(() => undefined); // Redis away: nobody uses the caches now
      try {
        return await write();
      } finally {
        await bump(ids, say).catch((error: unknown) => {
          for (const id of ids) owed.add(id);
          log.warn({ err: error }, 'access versions could not be bumped; retrying when Redis is back');
        });
      }
    },
  };
}
