import { randomUUID } from 'node:crypto';
import { pollUntil } from '../../base/poll.ts';
import type { Keys } from './log/keys.ts';
import { bindScript, nowLua, type RedisClient } from './redis.ts';

/** How long a write counts as in flight if its end is not recorded, and how long others wait for it at most, in milliseconds, times STORE_TIMEOUT_FACTOR. */
const maxInFlightMs = 2_500;

const beginLua = `${nowLua}
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
   * server that is in flight at that moment has ended or expired. A write ends before it waits, so no two wait for each other. While Redis is unavailable,
   * nothing is recorded and nothing waits.
   */
  begin(serverId: string): Promise<(isChange: boolean) => Promise<void>>;
}

/** Binds the set to `redis`. `timeoutFactor` multiplies the longest wait. */
export function createManagingWrites(redis: RedisClient, keys: Keys, timeoutFactor: number): ManagingWrites {
  const beginScript = bindScript<null>(redis, 'parlanceEnterManaging', beginLua);
  const othersScript = bindScript<string[]>(redis, 'parlanceOthersManaging', othersLua);
  const scaledMaxInFlightMs = maxInFlightMs * timeoutFactor;
  return {
    async begin(serverId) {
      if (redis.status !== 'ready') return () => Promise.resolve();
      const key = `${keys.partitionPrefix(keys.partitionOf(serverId))}managing:${serverId}`;
      const writeId = randomUUID();
      await beginScript([key], [writeId, scaledMaxInFlightMs]).catch(() => null);
      return async (isChange) => {
        let others = await othersScript([key], [writeId]).catch(() => []);
        if (!isChange || others.length === 0) return;
        await pollUntil(scaledMaxInFlightMs, async () => {
          const remaining = new Set(await othersScript([key], []).catch(() => []));
          others = others.filter((other) => remaining.has(other));
          return others.length === 0;
        });
      };
    },
  };
}
