import { bindScript, type RedisClient } from '../redis.ts';
import type { Epochs } from './epochs.ts';
import type { Keys } from './keys.ts';

/** How often the last number is recorded, in milliseconds, and how many records are kept. So the log reaches back 6 minutes. */
const tickMs = 30_000;
const ticksKept = 12;

// KEYS: state, n, ticks, active, lock. The oldest record becomes `keep`: places without entries after it are no longer active, and positions below it are too
// old.
const lua = `
if not redis.call('SET', KEYS[5], '1', 'NX', 'PX', ${tickMs - 1_000}) then return 0 end
local n = redis.call('GET', KEYS[2])
if not n then return 0 end
redis.call('LPUSH', KEYS[3], n)
redis.call('LTRIM', KEYS[3], 0, ${ticksKept})
local keep = redis.call('LINDEX', KEYS[3], ${ticksKept})
if keep then
  redis.call('HSET', KEYS[1], 'keep', keep)
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', keep)
end
return 1
`;

/**
 * Removes places from the active ones whose last entry is older than 6 minutes, and records below which number positions are too old. It acts at most once in
 * 30 s, however often it is called. Rejects while Redis is away.
 */
export type Retain = () => Promise<void>;

/** Binds `retain` to `redis`. It also boots epochs, so that losses of a partition are detected even if nothing is appended there. */
export function createRetain(redis: RedisClient, keys: Keys, epochs: Epochs): Retain {
  const tick = bindScript<number>(redis, 'parlanceRetain', lua);
  return async () => {
    for (let k = 0; k < keys.partitions; k++) {
      if (epochs.run(k) === '') await epochs.boot(k);
      await tick(
        ['state', 'n', 'ticks', 'active', 'ticked'].map((name) => keys.partition(k) + name),
        [],
      );
    }
  };
}

/** Returns the last number of the partition that a place belongs to; null while Redis is away. */
export type LastNumber = (place: string) => Promise<number | null>;

/** Binds `lastNumber` to `redis`. */
export const createLastNumber =
  (redis: RedisClient, keys: Keys): LastNumber =>
  (place) =>
    redis.get(`${keys.partition(keys.partitionOf(place))}n`).then(
      (n) => Number(n ?? 0),
      () => null,
    );
