import { randomUUID } from 'node:crypto';
import { pollUntil } from '../../base/poll.ts';
import { createExpiringNames } from './expiring-names.ts';
import type { Keys } from './log/keys.ts';
import type { RedisClient } from './redis.ts';

/** How long a write counts as in flight if its end is not recorded, and how long others wait for it at most, in milliseconds, times STORE_TIMEOUT_FACTOR. */
const maxInFlightMs = 2_500;

/** The writes in flight of all processes that change a server's settings or members. */
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
  const names = createExpiringNames(redis);
  const scaledMaxInFlightMs = maxInFlightMs * timeoutFactor;
  return {
    async begin(serverId) {
      if (redis.status !== 'ready') return () => Promise.resolve();
      const key = `${keys.partitionPrefix(keys.partitionOf(serverId))}managing:${serverId}`;
      const writeId = randomUUID();
      await names.add(key, writeId, scaledMaxInFlightMs).catch(() => undefined);
      return async (isChange) => {
        let others = await names.remove(key, writeId).catch(() => []);
        if (!isChange || others.length === 0) return;
        await pollUntil(scaledMaxInFlightMs, async () => {
          const remaining = new Set(await names.list(key).catch(() => []));
          others = others.filter((other) => remaining.has(other));
          return others.length === 0;
        });
      };
    },
  };
}
