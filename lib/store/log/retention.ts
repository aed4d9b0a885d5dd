import { bindScript, type RedisClient } from '../redis.ts';
import type { Epochs } from './epochs.ts';
import type { Keys } from './keys.ts';

/** How often the last number is noted, in milliseconds, and after how many notes it is forgotten: the log reaches back 6 minutes. */
const tickMs = 30_000;
const ticksKept = 12;

// KEYS: state, n, ticks, active, turn. What is older than the oldest note is forgotten, and a position below it is too old.
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

/** Forgets which places were active long ago, and notes up to where positions are too old. Called often; does something each 30 s. Rejects while Redis is away. */
export type Retain = () => Promise<void>;

/** Binds `retain` to `redis`. It also boots epochs, so that what a partition has lost is found out where nothing is appended. */
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

/** The last number in the log of the partition that a place belongs to; null while Redis is away. */
export type LastNumber = (place: string) => Promise<number | null>;

/** Binds `lastNumber` to `redis`. */
export const createLastNumber =
  (redis: RedisClient, keys: Keys): LastNumber =>
  (place) =>
    redis.get(`${keys.partition(keys.partitionOf(place))}n`).then(
      (n) => Number(n ?? 0),
      () => null,
    );
