import { refuse } from '../../base/errors.ts';
import { type IdSource, idEpochMs } from '../../base/ids.ts';
import { perTurn } from '../../base/per-turn.ts';
import { pollUntil } from '../../base/poll.ts';
import { isUnavailable } from '../mongo/database.ts';
import { idClockKey, inFlightKey, oldestInFlightLua, takeIdLua } from './horizon.ts';
import type { Keys } from './log/keys.ts';
import { bindScript, nowLua, type RedisClient } from './redis.ts';

/** How long a change counts as under way if its process does not report it any more, in milliseconds, times STORE_TIMEOUT_FACTOR; and the interval in which it does. */
const underWayMs = 2_500;
const reportIntervalMs = 1_000;
/** How often it does at most. A change that takes longer does not hold up the events of its server for ever. */
const maxReports = 10;
/** How long the state of a server is kept after its last change, in milliseconds. Without it, the next message of the server has its changes relayed first. */
const stateTtlMs = 24 * 3_600_000;
/** How long `waitUntilRelayed` waits at most, in milliseconds. */
const waitMs = 5_000;

/** How long to wait before it is looked again whether a change that is under way has ended, in milliseconds. */
export const changeDelayMs = 5;
/** How many servers one change covers at most: each is recorded by a script of its own. */
export const serversPerChange = 50;

/** The Redis key of the state of a server's changes: a hash of `changed` and `relayed` (times of ids in milliseconds), and the `epoch` of `relayed`. */
export const changesKey = (keys: Keys, serverId: string): string =>
  `${keys.partitionPrefix(keys.partitionOf(serverId))}changes:${serverId}`;

/**
 * Lua: `areChangesRelayed(state, changes, underWay, now, bound)` returns whether all events of a server's changes are in the log that were caused before now
 * or, if `bound` is a time of ids, before that. `underWay` is the key of the changes under way.
 */
export const areChangesRelayedLua = `${oldestInFlightLua}
local function areChangesRelayed(state, changes, underWay, now, bound)
  local known = redis.call('HMGET', changes, 'epoch', 'relayed', 'changed')
  if not known[2] or known[1] ~= (redis.call('HGET', state, 'epoch') or '0') then return false end
  local relayed = tonumber(known[2])
  if bound and relayed >= bound then return true end
  return oldestInFlight(underWay, now) == '' and relayed >= tonumber(known[3] or '0')
end
`;

// KEYS: id clock, changes under way, state of the changes. ARGV: milliseconds and sequence that the next id must be above, partition, number of partitions, the
// time for which the change is under way, and to end a change or report it again, its score, which no other one has.
const beginLua = `${takeIdLua}${nowLua}
local ms, seq = takeId(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
local score = string.format('%.0f', (ms - ${idEpochMs}) * 4096 + seq)
redis.call('ZADD', KEYS[2], score, string.format('%.0f:%.0f:%d', now + ARGV[5], ms, seq))
redis.call('PEXPIRE', KEYS[2], 10 * ARGV[5])
redis.call('HSET', KEYS[3], 'changed', string.format('%.0f', ms + 1))
redis.call('PEXPIRE', KEYS[3], ${stateTtlMs})
return { score, string.format('%.0f', ms), seq }
`;

const reportLua = `${nowLua}
local entry = redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[6], ARGV[6])[1]
if not entry then return end
redis.call('ZREM', KEYS[2], entry)
local later = string.gsub(entry, '^%d+', string.format('%.0f', now + ARGV[5]))
redis.call('ZADD', KEYS[2], ARGV[6], later)
redis.call('PEXPIRE', KEYS[2], 10 * ARGV[5])
`;

const endLua = `${takeIdLua}${nowLua}
local ms = takeId(KEYS[1], now, tonumber(ARGV[1]) + 1, -1, tonumber(ARGV[3]), tonumber(ARGV[4]))
redis.call('ZREMRANGEBYSCORE', KEYS[2], ARGV[6], ARGV[6])
redis.call('HSET', KEYS[3], 'changed', string.format('%.0f', ms))
`;

const horizonLua = `${takeIdLua}${oldestInFlightLua}${nowLua}
local ms = takeId(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
local oldest = oldestInFlight(KEYS[2], now)
local horizon = oldest == '' and ms or math.min(ms, tonumber(string.match(oldest, '^%d+:(%d+)')))
local known = redis.call('HMGET', KEYS[3], 'epoch', 'relayed')
local relayed = known[1] == (redis.call('HGET', KEYS[4], 'epoch') or '0') and known[2] or '0'
return { string.format('%.0f', horizon), string.format('%.0f', ms), relayed }
`;

// KEYS: those of `beginLua`, and the state of the partition. ARGV: up to when changes had been relayed, and the horizon.
const recordLua = `
local epoch = redis.call('HGET', KEYS[4], 'epoch') or '0'
local known = redis.call('HMGET', KEYS[3], 'epoch', 'relayed')
local relayed = known[1] == epoch and tonumber(known[2] or '0') or 0
if relayed < tonumber(ARGV[1]) or relayed >= tonumber(ARGV[2]) then return end
redis.call('HSET', KEYS[3], 'epoch', epoch, 'relayed', ARGV[2])
if not known[1] then redis.call('PEXPIRE', KEYS[3], ${stateTtlMs}) end
`;

// KEYS: id clock, state of the partition, and for each server those changes that are under way and the state of its changes. ARGV: those of `horizonLua` without
// the time, and for each server the bound or ''. Returns for each server '' or the bound for the next call, and whether no change is under way, so that the database
// can tell whether events are pending.
const relayedLua = `${areChangesRelayedLua}${takeIdLua}${nowLua}
local out, bound = {}, nil
for i = 1, (#KEYS - 2) / 2 do
  local underWay, given = KEYS[2 * i + 1], ARGV[4 + i]
  if areChangesRelayed(KEYS[2], KEYS[2 * i + 2], underWay, now, tonumber(given)) then
    out[i] = { '', 0 }
  else
    bound = bound or string.format('%.0f', takeId(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])) + 1)
    out[i] = { given ~= '' and given or bound, oldestInFlight(underWay, now) == '' and 1 or 0 }
  end
end
return out
`;

/** Times of ids in milliseconds. */
export interface ChangesHorizon {
  /** All ids of pending events from before it can be read; it is earlier than `nowMs` while a change is under way. */
  horizonMs: number;
  nowMs: number;
  /** What `recordRelayed` recorded last, or 0. */
  relayedMs: number;
}

/**
 * The order of the changes of a server: of its roles, channels, members and settings, in all processes (docs/delivery.md#order). A change is recorded as under
 * way before it creates the ids of its events, and until its last write has ended. So a relay that takes a horizon first, and then reads the pending events,
 * finds all events below the horizon, and the order of their ids is one in which the changes can have happened.
 */
export interface ServerChanges {
  /**
   * Runs `write` as a change of these servers: every change that begins after this has resolved has ids above those of this one. If the outcome of `write` is not
   * known, the change ends only after 2.5 s, when it can no longer take effect, as does one whose process dies. Refuses `unavailable`, and does not call `write`,
   * while Redis is unavailable.
   */
  run<T>(serverIds: Iterable<string>, write: () => Promise<T>): Promise<T>;
  /** The horizon of a server. Read the documents after it. Rejects while Redis is unavailable. */
  readHorizon(serverId: string): Promise<ChangesHorizon>;
  /**
   * Records that all events of a server with ids from before `horizonMs` are in the log, unless Redis knows only of less than `sinceMs`, of which the caller
   * assumed it. Rejects while Redis is unavailable.
   */
  recordRelayed(serverId: string, sinceMs: number, horizonMs: number): Promise<void>;
  /**
   * Waits until all events of the changes that began before the call are in the log; false if they are not within 5 s. `hasPending` tells whether the database
   * has pending events of the server: a change may have had none, and Redis may not know what was relayed. Rejects while Redis is unavailable.
   */
  waitUntilRelayed(serverId: string, hasPending: () => Promise<boolean>): Promise<boolean>;
}

/** Binds the order of changes to `redis`. `timeoutFactor` multiplies the time for which a change counts as under way. */
export function createServerChanges(redis: RedisClient, keys: Keys, ids: IdSource, timeoutFactor: number): ServerChanges {
  const beginScript = bindScript<[score: string, ms: string, sequence: number]>(redis, 'parlanceBeginChange', beginLua);
  const reportScript = bindScript<null>(redis, 'parlanceReportChange', reportLua);
  const endScript = bindScript<null>(redis, 'parlanceEndChange', endLua);
  const horizonScript = bindScript<[string, string, string]>(redis, 'parlanceChangesHorizon', horizonLua);
  const recordScript = bindScript<null>(redis, 'parlanceRecordRelayed', recordLua);
  const relayedScript = bindScript<[bound: string, isQuiet: number][]>(redis, 'parlanceChangesRelayed', relayedLua);

  const toKeys = (serverId: string): string[] => {
    const partition = keys.partitionOf(serverId);
    return [
      idClockKey(keys, partition),
      inFlightKey(keys, serverId),
      changesKey(keys, serverId),
      `${keys.partitionPrefix(partition)}state`,
    ];
  };
  const toArgs = (serverId: string): (string | number)[] => [ids.lastMs(), ids.lastSequence(), keys.partitionOf(serverId), keys.partitions];
  const askRelayed = Array.from({ length: keys.partitions }, (_, partition) =>
    perTurn<{ serverId: string; bound: string }, [bound: string, isQuiet: number]>((asked) => {
      const perServer = asked.flatMap(({ serverId }) => [inFlightKey(keys, serverId), changesKey(keys, serverId)]);
      const args = [ids.lastMs(), ids.lastSequence(), partition, keys.partitions, ...asked.map(({ bound }) => bound)];
      return relayedScript([idClockKey(keys, partition), `${keys.partitionPrefix(partition)}state`, ...perServer], args);
    }),
  );

  /** Records that a change begins. Returns the function that ends it, or lets it expire. */
  const begin = async (serverId: string): Promise<(isOutcomeKnown: boolean) => Promise<void>> => {
    const scriptKeys = toKeys(serverId);
    const forMs = underWayMs * timeoutFactor;
    const [score, ms, sequence] = await beginScript(scriptKeys, [...toArgs(serverId), forMs]);
    ids.markUsed(Number(ms), sequence);
    let [reports, lastReport] = [0, Promise.resolve()];
    const report = async (): Promise<void> =>
      void (await reportScript(scriptKeys, [...toArgs(serverId), forMs, score]).catch(() => undefined));
    const timer = setInterval(() => {
      lastReport = lastReport.then(report);
      if (++reports === maxReports) clearInterval(timer);
    }, reportIntervalMs);
    return async (isOutcomeKnown) => {
      clearInterval(timer);
      await lastReport;
      if (isOutcomeKnown) await endScript(scriptKeys, [...toArgs(serverId), 0, score]);
    };
  };

  return {
    async run(serverIds, write) {
      const begun = await Promise.allSettled([...new Set(serverIds)].map(begin));
      const endAll = async (isOutcomeKnown: boolean): Promise<void> => {
        await Promise.all(begun.flatMap((one) => (one.status === 'fulfilled' ? one.value(isOutcomeKnown).catch(() => undefined) : [])));
      };
      if (begun.some(({ status }) => status === 'rejected')) {
        await endAll(true);
        return refuse('unavailable');
      }
      let isOutcomeKnown = true;
      try {
        return await write();
      } catch (error) {
        isOutcomeKnown = !isUnavailable(error);
        throw error;
      } finally {
        await endAll(isOutcomeKnown);
      }
    },
    async readHorizon(serverId) {
      const [horizonMs, nowMs, relayedMs] = await horizonScript(toKeys(serverId), toArgs(serverId));
      return { horizonMs: Number(horizonMs), nowMs: Number(nowMs), relayedMs: Number(relayedMs) };
    },
    async recordRelayed(serverId, sinceMs, horizonMs) {
      await recordScript(toKeys(serverId), [sinceMs, horizonMs]);
    },
    async waitUntilRelayed(serverId, hasPending) {
      let bound = '';
      const check = async (): Promise<boolean> => {
        const ask = askRelayed[keys.partitionOf(serverId)] as (typeof askRelayed)[number];
        const [next, isQuiet] = await ask({ serverId, bound });
        bound = next;
        return next === '' || (isQuiet === 1 && !(await hasPending()));
      };
      let isRelayed = await check();
      if (!isRelayed)
        await pollUntil(waitMs, async () => {
          isRelayed = await check();
          return isRelayed;
        });
      return isRelayed;
    },
  };
}
