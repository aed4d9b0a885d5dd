import { limits } from '../../../base/limits.ts';
import { bindScript, type RedisClient } from '../redis.ts';
import type { Epochs } from './epochs.ts';
import type { Keys } from './keys.ts';

/** How often the last number is recorded, in milliseconds, and how many records are kept: as many as reach back `limits.sessionRetentionMs`. */
const recordIntervalMs = 30_000;
const maxRecords = Math.ceil(limits.sessionRetentionMs / recordIntervalMs);

// KEYS: state, n, ticks, active, lock. The oldest record becomes `keep`: places without entries after it are no longer active, and positions below it are too
// old.
const expireLua = `
if not redis.call('SET', KEYS[5], '1', 'NX', 'PX', ${recordIntervalMs - 1_000}) then return 0 end
local n = redis.call('GET', KEYS[2])
if not n then return 0 end
redis.call('LPUSH', KEYS[3], n)
redis.call('LTRIM', KEYS[3], 0, ${maxRecords})
local keep = redis.call('LINDEX', KEYS[3], ${maxRecords})
if keep then
  redis.call('HSET', KEYS[1], 'keep', keep)
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', keep)
end
return 1
`;

/**
 * Removes places from the active ones whose last entry is older than `limits.sessionRetentionMs`, and records below which number positions are too old. It acts
 * at most once in 30 s, however often it is called. Rejects while Redis is unavailable.
 */
export type ExpirePlaces = () => Promise<void>;

/** Binds `expirePlaces` to `redis`. It also calls `syncEpoch`, so that losses of a partition are detected even if nothing is appended there. */
export function createExpirePlaces(redis: RedisClient, keys: Keys, epochs: Epochs): ExpirePlaces {
  const expireScript = bindScript<number>(redis, 'parlanceExpirePlaces', expireLua);
  return async () => {
    for (let partition = 0; partition < keys.partitions; partition++) {
      if (epochs.runId(partition) === '') await epochs.syncEpoch(partition);
      await expireScript(
        ['state', 'n', 'ticks', 'active', 'ticked'].map((name) => keys.partitionPrefix(partition) + name),
        [],
      );
    }
  };
}

/** Returns the last number of the partition that a place belongs to; null while Redis is unavailable. */
export type ReadLastNumber = (place: string) => Promise<number | null>;

/** Binds `readLastNumber` to `redis`. */
export const createReadLastNumber =
  (redis: RedisClient, keys: Keys): ReadLastNumber =>
  (place) =>
    redis.get(`${keys.partitionPrefix(keys.partitionOf(place))}n`).then(
      (number) => Number(number ?? 0),
      () => null,
    );
