import type { Redis } from 'ioredis';
import type { Logger } from '../base/log.ts';
import type { Keys } from './log/keys.ts';
import { type Control, controlChannel } from './log/reader.ts';

/** How long a version key lives without a change, in seconds: far longer than any cached entry (30 s). */
const keptSecs = 3_600;

/**
 * Versions of access data (quality 2, "Access in one round trip"). A server's version covers its roles, channels, overwrites and members; an account's
 * covers its profile and credentials. Whoever caches such data keeps it under its version.
 */
export interface AccessVersions {
  /** The versions of these servers and accounts, in order; null while Redis is away, and then nothing may be cached or taken from a cache. */
  read(ids: readonly string[]): Promise<string[] | null>;
  /** Runs `write` with the versions bumped before and after it, and with `credentials` tells gateway nodes to check the tokens of `accounts`. Answers when the second bump is done. */
  changing<T>(
    what: { servers?: readonly string[]; accounts?: readonly string[]; credentials?: boolean },
    write: () => Promise<T>,
  ): Promise<T>;
}

/** The Redis key of a version, in every partition: an append reads that of its own. */
export const versionKey = (keys: Keys, k: number, id: string): string => `${keys.partition(k)}v:${id}`;

/** Binds the versions to `redis`. Bumps that fail are made good when the connection is back. */
export function createAccessVersions(redis: Redis, keys: Keys, log: Logger): AccessVersions {
  const owed = new Set<string>();
  const bump = async (ids: Iterable<string>, say: readonly string[] = []): Promise<void> => {
    const pipeline = redis.multi();
    for (const id of ids)
      for (let k = 0; k < keys.partitions; k++) {
        const key = versionKey(keys, k, id);
        pipeline.incr(key);
        pipeline.expire(key, keptSecs);
      }
    for (const accountId of say) {
      const message: Control = { kind: 'access', accountId };
      pipeline.publish(controlChannel(keys, accountId), JSON.stringify(message));
    }
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
      const say = credentials ? accounts : [];
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
