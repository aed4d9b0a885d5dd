import { randomUUID } from 'node:crypto';
import { lookAgain } from '../../base/look-again.ts';
import type { Keys } from './log/keys.ts';
import { bindScript, nowLua, type RedisClient } from './redis.ts';

/** How long a write counts as in flight if its end is not recorded, and how long others wait for it at most, in milliseconds, times STORE_PATIENCE. */
const inFlightMs = 2_500;

const enterLua = `${nowLua}
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
`;

/** Lua: removes the caller's entry if its name is given, and returns the other entries. */
const othersLua = `${nowLua}
if ARGV[1] then redis.call('ZREM', KEYS[1], ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZRANGE', KEYS[1], 0, -1)
`;

/** The writes in flight of all processes that change a server's settings or members. A sorted set in Redis holds their names and expiry times. */
export interface ManagingWrites {
  /**
   * Records a write to `serverId` as in flight, and returns the function that ends it. With `isChange` that function then waits until every other write to the
   * server that is in flight at that moment has ended or expired. A write ends before it waits, so no two wait for each other. While Redis is away, nothing is
   * recorded and nothing waits.
   */
  enter(serverId: string): Promise<(isChange: boolean) => Promise<void>>;
}

/** Binds the set to `redis`. `timeoutFactor` multiplies the longest wait. */
export function createManagingWrites(redis: RedisClient, keys: Keys, timeoutFactor: number): ManagingWrites {
  const enterScript = bindScript<null>(redis, 'parlanceEnterManaging', enterLua);
  const othersScript = bindScript<string[]>(redis, 'parlanceOthersManaging', othersLua);
  const lastsMs = inFlightMs * timeoutFactor;
  return {
    async enter(serverId) {
      if (redis.status !== 'ready') return () => Promise.resolve();
      const key = `${keys.partition(keys.partitionOf(serverId))}managing:${serverId}`;
      const name = randomUUID();
      await enterScript([key], [name, lastsMs]).catch(() => null);
      return async (isChange) => {
        let others = await othersScript([key], [name]).catch(() => []);
        if (!isChange || others.length === 0) return;
        await lookAgain(lastsMs, async () => {
          const now = new Set(await othersScript([key], []).catch(() => []));
          others = others.filter((other) => now.has(other));
          return others.length === 0;
        });
      };
    },
  };
}
