import mongoose from 'mongoose';
import { idOf } from '../base/ids.ts';
import type { Keys } from './log/keys.ts';
import type { MessageDoc } from './models/message.ts';
import { newestLua } from './newest-messages.ts';
import { nowLua } from './redis.ts';

const { EJSON } = mongoose.mongo.BSON;

/** The Redis key of the id clock of a partition. */
export const idClockKey = (keys: Keys, k: number): string => `${keys.partition(k)}ids`;
/** The Redis key of a channel's writes in flight: a sorted set of `<expiry in ms>:<ms>:<sequence>`, in the order of the ids. */
export const inFlightKey = (keys: Keys, channelId: string): string => `${keys.partition(keys.partitionOf(channelId))}flight:${channelId}`;
/** The Redis key of the number of writes that a channel ever had, but for those before a quiet minute. */
export const writesKey = (keys: Keys, channelId: string): string => `${keys.partition(keys.partitionOf(channelId))}writes:${channelId}`;

/**
 * Lua: `takeId(key, now, floor, floorSeq, k, partitions)` gives the next id of the clock of partition k as milliseconds and sequence; all are numbers, times in
 * milliseconds. It lies above the id of `floor` and `floorSeq`, also where Redis has lost that. Each partition has the sequences that leave k when divided by the
 * number of partitions, so that no two give the same id.
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

/** Lua: `horizon()` gives a `HorizonReply`. KEYS: id clock, in flight, newest, state, writes. ARGV: the least id as milliseconds and sequence, partition, partitions. */
export const horizonLua = `${takeIdLua}${oldestInFlightLua}${newestLua}${nowLua}
local function horizon()
  local ms, seq = takeId(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
  local oldest = oldestInFlight(KEYS[2], now)
  local ended = tonumber(redis.call('GET', KEYS[5]) or '0') - redis.call('ZCARD', KEYS[2])
  return { string.format('0:%.0f:%d', ms, seq), oldest, readNewest(KEYS[4], KEYS[3]) or '', string.format('%d', ended) }
end
`;

/**
 * Where a channel's messages can be read without a hole: no id below `below` is given out from now on. `oldest` is the smallest id whose insert may still be
 * under way, null when there is none.
 */
export interface Horizon {
  below: string;
  oldest: string | null;
}

/** A horizon with what the relay needs besides. */
export interface ChannelHorizon extends Horizon {
  /** What is noted as the newest message of the channel, '' for none. */
  newest: string;
  /** How many inserts have ended. Each end makes it one more; what goes otherwise, such as the id of a process that died, makes it jump. */
  ended: number;
}

/** A horizon as Redis answers it: the bound and the oldest in flight as entries, the newest message, and how many inserts have ended. */
export type HorizonReply = readonly [next: string, oldest: string, newest: string, ended: string];

/** Reads the answer of Lua. */
export const readHorizon = ([next, oldest, newest, ended]: HorizonReply): ChannelHorizon => ({
  below: idOfEntry(next) as string,
  oldest: idOfEntry(oldest),
  newest,
  ended: Number(ended),
});

/** What the end of an insert tells the worker that stays with the channel. `message`: in Extended JSON, '' when none was stored, absent when it is not told. */
interface ToldWrite {
  horizon: HorizonReply;
  message?: string;
}

/** An insert that has ended, as a worker was told: `message` is null when nothing was stored, and undefined when what was is to be looked up. */
export interface EndedWrite {
  horizon: ChannelHorizon;
  message: MessageDoc | null | undefined;
}

/** Reads what a wake told; null for one that says only that there is something to do. */
export function readEndedWrite(told: unknown): EndedWrite | null {
  const { horizon, message } = (told ?? {}) as Partial<ToldWrite>;
  if (!horizon) return null;
  return { horizon: readHorizon(horizon), message: message ? (EJSON.parse(message) as MessageDoc) : message === '' ? null : undefined };
}

/** The id of an entry in flight; null for ''. */
export function idOfEntry(entry: string): string | null {
  const [, ms, sequence] = entry.split(':').map(Number);
  return ms === undefined || sequence === undefined ? null : idOf(ms, 0, sequence);
}

/** A message of so many characters as JSON is told; a longer one is looked up. */
const toldMost = 8_000;

/** A message as the end of its insert tells it; undefined when it does not. */
export function toldOf(message: MessageDoc | undefined): string | undefined {
  const json = message && EJSON.stringify(message);
  return json !== undefined && json.length <= toldMost ? json : undefined;
}
