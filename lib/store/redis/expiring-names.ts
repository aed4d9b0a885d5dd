import { bindScript, nowLua, type RedisClient } from './redis.ts';

/**
 * Lua: names that expire, such as leases of processes and requests in flight, are in a sorted set with the times at which they expire, by Redis' clock, because
 * the clocks of machines differ. `removeExpired(key)` removes those that have expired. `addName(key, name, ms)` adds a name for `ms` milliseconds, or renews it.
 * The set expires with its last name.
 */
export const expiringNamesLua = `${nowLua}
local function removeExpired(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
end
local function addName(key, name, ms)
  redis.call('ZADD', key, now + ms, name)
  redis.call('PEXPIRE', key, math.max(tonumber(ms), redis.call('PTTL', key)))
end
`;

const addLua = `${expiringNamesLua}
removeExpired(KEYS[1])
addName(KEYS[1], ARGV[1], ARGV[2])
`;

/** How many names are returned at most. */
const maxNames = 1_000;

/** Removes a name if it is given, and returns the others. */
const listLua = `${expiringNamesLua}
if ARGV[1] then redis.call('ZREM', KEYS[1], ARGV[1]) end
removeExpired(KEYS[1])
return redis.call('ZRANGE', KEYS[1], 0, ${maxNames - 1})
`;

/** Sets of names that expire, by their Redis keys. All methods reject while Redis is unavailable. */
export interface ExpiringNames {
  /** Adds a name for `ttlMs` milliseconds, or renews it. */
  add(key: string, name: string, ttlMs: number): Promise<void>;
  /** Removes a name, and returns the others as `list` does. */
  remove(key: string, name: string): Promise<string[]>;
  /** The names that have not expired, those that expire first at the beginning, at most 1,000. */
  list(key: string): Promise<string[]>;
}

/** Binds the sets to `redis`. */
export function createExpiringNames(redis: RedisClient): ExpiringNames {
  const addScript = bindScript<null>(redis, 'parlanceAddName', addLua);
  const listScript = bindScript<string[]>(redis, 'parlanceListNames', listLua);
  return {
    add: async (key, name, ttlMs) => void (await addScript([key], [name, ttlMs])),
    remove: (key, name) => listScript([key], [name]),
    list: (key) => listScript([key], []),
  };
}
