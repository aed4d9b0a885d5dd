import { composeId } from '../../base/ids.ts';
import { EJSON } from '../mongo/ejson.ts';
import type { MessageDoc } from '../mongo/models/message.ts';
import type { Keys } from './log/keys.ts';
import { newestLua } from './newest-messages.ts';
import { nowLua } from './redis.ts';

/** The Redis key of the id clock of a partition. */
export const idClockKey = (keys: Keys, partition: number): string => `${keys.partitionPrefix(partition)}ids`;
/** The Redis key of a channel's inserts in flight: a sorted set of `<expiry in ms>:<ms of the id>:<sequence of the id>`, ordered by id. */
export const inFlightKey = (keys: Keys, channelId: string): string =>
  `${keys.partitionPrefix(keys.partitionOf(channelId))}flight:${channelId}`;
/** The Redis key of a channel's insert counter. It expires, and so restarts from 0, when no insert has begun for about a minute. */
export const writesKey = (keys: Keys, channelId: string): string =>
  `${keys.partitionPrefix(keys.partitionOf(channelId))}writes:${channelId}`;

/**
 * Lua: `takeId(key, now, floor, floorSeq, k, partitions)` takes the next id from the clock of partition k and returns its milliseconds and sequence. All
 * arguments but `key` are numbers; times are in milliseconds. The id is above the one of `floor` and `floorSeq`, even if Redis has lost that one. Partition k
 * only uses sequences with the remainder k when divided by the number of partitions, so no two partitions give the same id.
 */
export const takeIdLua = `
local function takeId(key, now, floor, floorSeq, k, partitions)
  local last = redis.call('HMGET', key, 'ms', 'seq')
  local ms, seq, lastMs = math.max(now, floor), k, tonumber(last[1] or '0')
  if ms <= lastMs then ms, seq = lastMs, tonumber(last[2]) + partitions end
  if ms == floor and seq <= floorSeq then seq = seq + math.ceil((floorSeq + 1 - seq) / partitions) * partitions end
  if seq > 4095 then ms, seq = ms + 1, k end
  redis.call('HSET', key, 'ms', string.format('%.0f', ms), 'seq', seq)
  return ms, seq
end
`;

/**
 * Lua: `oldestInFlight(key, now)` returns the entry with the smallest id, or ''. Before it, it removes entries that have expired, and entries that expire in
 * more than 2 minutes: their expiry was computed before the clock was set back.
 */
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

/**
 * Lua: `horizon()` returns a `HorizonReply`. KEYS: id clock, inserts in flight, newest message, state, insert counter. ARGV: milliseconds and sequence of the
 * id that the next one must be above, the partition, the number of partitions.
 */
export const horizonLua = `${takeIdLua}${oldestInFlightLua}${newestLua}${nowLua}
local function horizon()
  local ms, seq = takeId(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
  local oldest = oldestInFlight(KEYS[2], now)
  local ended = tonumber(redis.call('GET', KEYS[5]) or '0') - redis.call('ZCARD', KEYS[2])
  return { string.format('0:%.0f:%d', ms, seq), oldest, readNewest(KEYS[4], KEYS[3]) or '', string.format('%d', ended) }
end
`;

/**
 * How far a channel's messages can be read without a gap. No id below `below` is given out from now on. `oldest` is the smallest id whose insert may still be
 * in flight; null when there is none.
 */
export interface Horizon {
  below: string;
  oldest: string | null;
}

/** A horizon with the additional data that the relay needs. */
export interface ChannelHorizon extends Horizon {
  /** The id that is stored in Redis as the newest message of the channel; '' for none. */
  newest: string;
  /**
   * How many inserts have ended: the insert counter minus the entries in flight. Each insert that ends adds one, and its wake brings the new value. An entry
   * that expires, for example because its process died, adds one without a wake. The next wake then shows a jump.
   */
  endedInserts: number;
}

/** A horizon as Redis returns it: the bound and the oldest id in flight as entries, the newest message, and how many inserts have ended. */
export type HorizonReply = readonly [next: string, oldest: string, newest: string, ended: string];

/** Parses the reply of the Lua function `horizon`. */
export const readHorizon = ([next, oldest, newest, endedInserts]: HorizonReply): ChannelHorizon => ({
  below: parseEntryId(next) as string,
  oldest: parseEntryId(oldest),
  newest,
  endedInserts: Number(endedInserts),
});

/**
 * The payload of the wake at the end of an insert, for the owner of the channel. `message` is Extended JSON, or '' when none was stored. It is
 * absent when the message is not sent along.
 */
interface WakePayload {
  horizon: HorizonReply;
  message?: string;
}

/** An insert that has ended, as read from a wake. `message` is null when nothing was stored, and undefined when it must be read from the database. */
export interface EndedWrite {
  horizon: ChannelHorizon;
  message: MessageDoc | null | undefined;
}

/** Reads the payload of a wake; null for a wake that says only that there is work. */
export function readEndedWrite(payload: unknown): EndedWrite | null {
  const { horizon, message } = (payload ?? {}) as Partial<WakePayload>;
  if (!horizon) return null;
  return { horizon: readHorizon(horizon), message: message ? (EJSON.parse(message) as MessageDoc) : message === '' ? null : undefined };
}

/** The id of an entry in flight; null for ''. */
export function parseEntryId(entry: string): string | null {
  const [, ms, sequence] = entry.split(':').map(Number);
  return ms === undefined || sequence === undefined ? null : composeId(ms, 0, sequence);
}

/** The longest message that a wake carries, in characters of JSON. A longer one is read from the database. */
const maxWakeMessageChars = 8_000;

/** A message as JSON for the wake at the end of its insert; undefined when the wake does not carry it. */
export function toWakeMessage(message: MessageDoc | undefined): string | undefined {
  const json = message && EJSON.stringify(message);
  return json !== undefined && json.length <= maxWakeMessageChars ? json : undefined;
}
