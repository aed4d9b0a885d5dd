import { limits } from '../base/limits.ts';
import type { Keys } from './log/keys.ts';
import { bindScript, nowLua, type RedisClient } from './redis.ts';

/** One request on its way out: who it counts for, how many of those there may be at once, and how long it lasts at most. */
export interface Flight {
  /** Its own name among all that are on their way. */
  id: string;
  /** Whose bound it counts towards, such as an application's. */
  group: string;
  groupMax: number;
  /** When it counts no more, even if nobody says that it ended: its process died. In milliseconds. */
  lastsMs: number;
}

/**
 * Takes a place for a request among those of all processes; null when its group has `groupMax` on their way, or as many as there are places left for all: so
 * groups that take all they get settle at equal shares, with one share left for a group that has none. What it answers gives the place back; giving it back
 * again does nothing. Rejects while Redis is away.
 */
export type TakeFlight = (flight: Flight) => Promise<(() => void) | null>;

// A place is an entry whose score is the time, in ms of Redis' clock, at which it counts no more. A set lives as long as its last place may.
const lua = `${nowLua}
for i = 1, 2 do redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now) end
local mine, all = redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[2])
if mine >= tonumber(ARGV[3]) or mine >= tonumber(ARGV[4]) - all then return 0 end
for i = 1, 2 do
  redis.call('ZADD', KEYS[i], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[i], math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[i])))
end
return 1
`;

/** Binds the places for requests that go out, at most `max` in all, by default `limits.requestsInFlight`, to `redis`. */
export function createTakeFlight(redis: RedisClient, keys: Keys, max: number = limits.requestsInFlight): TakeFlight {
  const script = bindScript<number>(redis, 'parlanceTakeFlight', lua);
  const all = `${keys.partition(0)}flights`;
  return async ({ id, group, groupMax, lastsMs }) => {
    const mine = `${all}:${group}`;
    if ((await script([mine, all], [id, lastsMs, groupMax, max])) === 0) return null;
    return () => {
      redis
        .pipeline()
        .zrem(mine, id)
        .zrem(all, id)
        .exec()
        .catch(() => undefined);
    };
  };
}
