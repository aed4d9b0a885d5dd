import { refuse } from '../base/errors.ts';
import { type IdSource, idEpochMs, idOf } from '../base/ids.ts';
import { lookAgain } from '../base/look-again.ts';
import { isUnavailable } from './database.ts';
import type { Keys } from './log/keys.ts';
import { createNewestMessages, type NewestMessages, newestKey, newestLua, newestStateKey } from './newest-messages.ts';
import { bindScript, nowLua, type RedisClient } from './redis.ts';
import { wakeChannel } from './residents.ts';

/** How long an insert may take from the moment its ids are taken, in milliseconds, times STORE_PATIENCE: then the driver gives up and the database ends the command. */
const insertMs = 2_000;
/** How long an id stays in flight unless it is released, in milliseconds, times STORE_PATIENCE: longer than its insert can still take effect. */
const inFlightMs = insertMs + 500;

/** The Redis key of the id clock of a partition. */
export const idClockKey = (keys: Keys, k: number): string => `${keys.partition(k)}ids`;
/** The Redis key of a channel's writes in flight: a sorted set of `<expiry in ms>:<ms>:<sequence>`, in the order of the ids. */
export const inFlightKey = (keys: Keys, channelId: string): string => `${keys.partition(keys.partitionOf(channelId))}flight:${channelId}`;

/**
 * Lua: `takeId(key, now, floor, k, partitions)` gives the next id of the clock of partition k as milliseconds and sequence; all are numbers, times in
 * milliseconds. Each partition has the sequences that leave k when divided by the number of partitions, so that no two give the same id.
 */
export const takeIdLua = `
local function takeId(key, now, floor, k, partitions)
  local last = redis.call('HMGET', key, 'ms', 'seq')
  local ms, seq, lastMs = math.max(now, floor), k, tonumber(last[1] or '0')
  if ms <= lastMs then
    ms, seq = lastMs, tonumber(last[2]) + partitions
    if seq > 4095 then ms, seq = ms + 1, k end
  end
  redis.call('HSET', key, 'ms', string.format('%.0f', ms), 'seq', seq)
  return ms, seq
end
`;

/** Lua: `oldestInFlight(key, now)` gives the entry with the smallest id, or ''. Entries past their time go, also those whose time a clock set back has put off. */
export const oldestInFlightLua = `
local function oldestInFlight(key, now)
  while true do
    local entry = redis.call('ZRANGE', key, 0, 0)[1]
    if not entry then return '' end
    local expiry = tonumber(string.match(entry, '^%d+'))
    if expiry > now and expiry < now + 120000 then return entry end
    redis.call('ZREM', key, entry)
  end
end
`;

const reserveLua = `${takeIdLua}${nowLua}
local ms, seq = takeId(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4]))
local entry = string.format('%.0f:%.0f:%d', now + ARGV[2], ms, seq)
redis.call('ZADD', KEYS[2], string.format('%.0f', (ms - ${idEpochMs}) * 4096 + seq), entry)
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return entry
`;

// KEYS: id clock, in flight, newest, state. ARGV: the least time, partition, partitions.
const horizonOfLua = `${takeIdLua}${oldestInFlightLua}${newestLua}${nowLua}
local function horizon()
  local ms, seq = takeId(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]))
  return { string.format('0:%.0f:%d', ms, seq), oldestInFlight(KEYS[2], now), readNewest(KEYS[4], KEYS[3]) or '' }
end
`;
const horizonLua = `${horizonOfLua}
return horizon()
`;

// The insert has ended: its id is in flight no longer, and the newest of its channel if it was stored. The worker that stays with the channel, if any, is woken
// with the horizon. KEYS and ARGV as above, and: the channel that wakes; the entry in flight, the id if it was stored, the Parlance channel.
const endLua = `${horizonOfLua}
if ARGV[4] ~= '' then redis.call('ZREM', KEYS[2], ARGV[4]) end
if ARGV[5] ~= '' then noteNewest(KEYS[4], KEYS[3], ARGV[5], true) end
return redis.call('PUBLISH', KEYS[5], cjson.encode({ channelId = ARGV[6], horizon = horizon() }))
`;

const oldestLua = `${oldestInFlightLua}${nowLua}
return oldestInFlight(KEYS[1], now)
`;

/** The id of an entry in flight; null for ''. */
export function idOfEntry(entry: string): string | null {
  const [, ms, sequence] = entry.split(':').map(Number);
  return ms === undefined || sequence === undefined ? null : idOf(ms, 0, sequence);
}

/**
 * Where a channel's messages can be read without a hole: no id below `below` is given out from now on. `oldest` is the smallest id whose insert may still be
 * under way, null when there is none.
 */
export interface Horizon {
  below: string;
  oldest: string | null;
}

/** A horizon as Redis answers it: the bound and the oldest in flight as entries, and the newest message. */
export type HorizonReply = readonly [next: string, oldest: string, newest: string];

/** The horizon, and what is noted as the newest message of the channel, '' for none. */
export const readHorizon = ([next, oldest, newest]: HorizonReply): Horizon & { newest: string } => ({
  below: idOfEntry(next) as string,
  oldest: idOfEntry(oldest),
  newest,
});

/** How an insert ended. */
export interface Stored<T> {
  result: T;
  /** Whether it stored a message under each of its ids: those are noted as the newest of their channels. */
  isStored: boolean;
}

/** An insert that was made, and when its ids are no longer in flight. */
export interface Written<T> {
  result: T;
  /** Resolves, and never rejects, when readers and the relay see that the insert has ended. False when no worker was woken: ask for the relay then. */
  released: Promise<boolean>;
}

/**
 * Gives messages their ids such that the ids of a channel are also the order in which its messages can be read and are relayed.
 * - A writer takes the id from the clock of Redis immediately before its insert. The same script notes the id as in flight; a second call takes it away after
 *   the insert. An insert that ended without a known result leaves its entry to expire, after the longest time in which it can still take effect.
 * - A reader takes a bound from the same clock, waits until no smaller id is in flight, and reads below the bound (`settled`). So whatever it returns, nothing
 *   comes between or before that later, and a message whose 201 was answered before is there.
 * - The relay does not wait: it takes what is below the oldest id in flight, and is woken when that insert has ended. A wake brings the horizon of its moment.
 * While Redis is away ids come from the process' own clock and nothing waits: messages are posted and read, but without that promise.
 */
export interface MessageOrder {
  /**
   * Runs `insert` with a new id for each of `channelIds`. It calls `within` for the options of the insert: they end it before the ids expire; refuses `unavailable`
   * when the process was paused for so long that they may have. A rejected insert is released too, unless its outcome is unknown.
   */
  write<T>(
    channelIds: readonly string[],
    insert: (ids: string[], within: () => { timeoutMS: number }) => Promise<Stored<T>>,
  ): Promise<Written<T>>;
  /** The horizon of a channel now, and what is noted as its newest message, '' for none; null while Redis is away. */
  horizon(channelId: string): Promise<(Horizon & { newest: string }) | null>;
  /** The newest message of each channel. */
  readonly newest: NewestMessages;
  /** Waits until no id below the horizon is in flight, at most as long as an insert can last; answers the bound. */
  settled(channelId: string, horizon: Horizon): Promise<string>;
}

/** Binds the order of messages to `redis`. `timeoutFactor` stretches every wait for a store. */
export function createMessageOrder(redis: RedisClient, keys: Keys, ids: IdSource, timeoutFactor: number): MessageOrder {
  const reserveScript = bindScript<string>(redis, 'parlanceReserveId', reserveLua);
  const horizonScript = bindScript<HorizonReply>(redis, 'parlanceHorizon', horizonLua);
  const endScript = bindScript<number>(redis, 'parlanceEndInsert', endLua);
  const oldestScript = bindScript<string>(redis, 'parlanceOldestInFlight', oldestLua);

  /** A new id, with its entry in flight; without one while Redis is away. */
  const reserve = async (channelId: string): Promise<{ id: string; entry: string | null }> => {
    if (redis.status === 'ready')
      try {
        const k = keys.partitionOf(channelId);
        const entry = await reserveScript(
          [idClockKey(keys, k), inFlightKey(keys, channelId)],
          [ids.lastMs(), inFlightMs * timeoutFactor, k, keys.partitions],
        );
        ids.note(Number(entry.split(':')[1]));
        return { id: idOfEntry(entry) as string, entry };
      } catch {
        // Redis went away in between; if the entry was made, it expires.
      }
    return { id: ids.next(), entry: null };
  };
  /** What a script needs that reads the horizon of a channel. */
  const horizonOf = (channelId: string): { keysOf: string[]; args: (string | number)[] } => {
    const k = keys.partitionOf(channelId);
    const keysOf = [idClockKey(keys, k), inFlightKey(keys, channelId), newestKey(keys, channelId), newestStateKey(keys, channelId)];
    return { keysOf, args: [ids.lastMs(), k, keys.partitions] };
  };
  /** True when a worker was woken. */
  const end = async (channelId: string, entry: string | null, newest: string | null): Promise<boolean> => {
    if (entry === null && newest === null) return false;
    const { keysOf, args } = horizonOf(channelId);
    const wake = wakeChannel(keys, 'relay-channel', { channelId });
    return (await endScript([...keysOf, wake], [...args, entry ?? '', newest ?? '', channelId]).catch(() => 0)) > 0;
  };

  return {
    newest: createNewestMessages(redis, keys),
    async write(channelIds, insert) {
      const until = performance.now() + insertMs * timeoutFactor;
      const reserved = await Promise.all(channelIds.map(reserve));
      const endAll = async (isStored: boolean): Promise<boolean> => {
        const woken = await Promise.all(reserved.map(({ id, entry }, at) => end(channelIds[at] as string, entry, isStored ? id : null)));
        return !woken.includes(false);
      };
      const within = (): { timeoutMS: number } => {
        const timeoutMS = Math.floor(until - performance.now());
        return timeoutMS > 0 ? { timeoutMS } : refuse('unavailable');
      };
      try {
        const { result, isStored } = await insert(
          reserved.map(({ id }) => id),
          within,
        );
        return { result, released: endAll(isStored) };
      } catch (error) {
        if (!isUnavailable(error)) void endAll(false);
        throw error;
      }
    },
    async horizon(channelId) {
      if (redis.status !== 'ready') return null;
      const { keysOf, args } = horizonOf(channelId);
      return readHorizon(await horizonScript(keysOf, args));
    },
    async settled(channelId, { below, oldest }) {
      const isClear = (entry: string | null): boolean => entry === null || entry >= below;
      if (!isClear(oldest))
        await lookAgain(inFlightMs * timeoutFactor, async () =>
          isClear(idOfEntry(await oldestScript([inFlightKey(keys, channelId)], []).catch(() => ''))),
        );
      return below;
    },
  };
}
