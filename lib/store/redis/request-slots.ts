import { limits } from '../../base/limits.ts';
import { expiringNamesLua } from './expiring-names.ts';
import type { Keys } from './log/keys.ts';
import { bindScript, type RedisClient } from './redis.ts';

/** An outbound request: the group that it counts for, the limit of that group, and how long the request lasts at most. */
export interface RequestSlot {
  /** Unique among all requests in flight. */
  id: string;
  /** Whose limit it counts towards, for example an application's. */
  group: string;
  maxPerGroup: number;
  /** After how many milliseconds its slot is free again even if it was not released, because its process died. */
  ttlMs: number;
}

/**
 * Acquires a slot for an outbound request, counted over all processes. Returns the function that releases the slot; a second call of that does nothing. Returns
 * null when the group has `maxPerGroup` requests in flight, or as many as there are free slots for all groups. Because of the latter, busy groups end up with
 * equal shares, and one share stays free for another group. Rejects while Redis is unavailable.
 */
export type AcquireRequestSlot = (flight: RequestSlot) => Promise<(() => void) | null>;

// KEYS: the slots of the group, and of all groups. ARGV: the request, how long it lasts, and the limits of the group and of all.
const lua = `${expiringNamesLua}
for i = 1, 2 do removeExpired(KEYS[i]) end
local mine, all = redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[2])
if mine >= tonumber(ARGV[3]) or mine >= tonumber(ARGV[4]) - all then return 0 end
for i = 1, 2 do addName(KEYS[i], ARGV[1], ARGV[2]) end
return 1
`;

/** Binds the slots for outbound requests to `redis`: at most `maxSlots` in all, by default `limits.requestsInFlight`. */
export function createRequestSlots(redis: RedisClient, keys: Keys, maxSlots: number = limits.requestsInFlight): AcquireRequestSlot {
  const script = bindScript<number>(redis, 'parlanceAcquireRequestSlot', lua);
  const allKey = `${keys.partitionPrefix(0)}flights`;
  return async ({ id, group, maxPerGroup, ttlMs }) => {
    const groupKey = `${allKey}:${group}`;
    if ((await script([groupKey, allKey], [id, ttlMs, maxPerGroup, maxSlots])) === 0) return null;
    return () => {
      redis
        .pipeline()
        .zrem(groupKey, id)
        .zrem(allKey, id)
        .exec()
        .catch(() => undefined);
    };
  };
}
