import { composeId, type IdSource, idEpochMs } from '../../base/ids.ts';
import { pollUntil } from '../../base/poll.ts';
import { isUnavailable } from '../mongo/database.ts';
import type { MessageDoc } from '../mongo/models/message.ts';
import {
  type ChannelHorizon,
  type Horizon,
  type HorizonReply,
  horizonLua,
  idClockKey,
  inFlightKey,
  oldestInFlightLua,
  parseEntryId,
  readHorizon,
  takeIdLua,
  toWakeMessage,
  writesKey,
} from './horizon.ts';
import type { Keys } from './log/keys.ts';
import { createNewestMessages, type NewestMessages, newestKey, newestStateKey } from './newest-messages.ts';
import { bindScript, nowLua, type RedisClient } from './redis.ts';
import { wakeChannels, wakeLua } from './wakes.ts';

/**
 * How long an insert may take from the moment its ids are taken, in milliseconds, times STORE_TIMEOUT_FACTOR. After that the driver gives up and the database
 * aborts the command.
 */
const insertTimeoutMs = 2_000;
/** How long an id stays in flight if it is not released, in milliseconds, times STORE_TIMEOUT_FACTOR. Its insert cannot take effect any more after that. */
const inFlightTtlMs = insertTimeoutMs + 500;
/** How long after that an insert is doubtful whose end was not reported, in milliseconds, and how many of a partition are returned at most. */
const doubtMs = 60_000;
const maxDoubtful = 1_000;

/** The Redis key of a partition's inserts whose end was not reported: a sorted set of `<entry in flight> <channel>`, ordered by expiry. */
const openInsertsKey = (keys: Keys, partition: number): string => `${keys.partitionPrefix(partition)}open-inserts`;

const reserveLua = `${takeIdLua}${nowLua}
local ms, seq = takeId(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
local entry = string.format('%.0f:%.0f:%d', now + ARGV[5], ms, seq)
redis.call('ZADD', KEYS[2], string.format('%.0f', (ms - ${idEpochMs}) * 4096 + seq), entry)
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('INCR', KEYS[3])
redis.call('PEXPIRE', KEYS[3], 60000 + ARGV[5])
redis.call('ZADD', KEYS[4], string.format('%.0f', now + ARGV[5]), entry..' '..ARGV[6])
return entry
`;

const readLua = `${horizonLua}
return horizon()
`;

// Ends an insert: removes its id from those in flight, and records the id as the newest of its channel if a message was stored. Wakes the owner of the channel
// with the horizon and the message. KEYS: those of `horizonLua`, the two channels of the wake, and the open inserts. ARGV: those of
// `horizonLua`, the entry in flight, the id if a message was stored, the id of the chat channel, whether to wake nobody (`1` or ''), and `message` of
// `WakePayload`, if the wake carries it.
const endLua = `${horizonLua}${wakeLua}
if ARGV[5] ~= '' then
  redis.call('ZREM', KEYS[2], ARGV[5])
  redis.call('ZREM', KEYS[8], ARGV[5]..' '..ARGV[7])
end
if ARGV[6] ~= '' then noteNewest(KEYS[4], KEYS[3], ARGV[6], true) end
if ARGV[8] ~= '' then return 1 end
return wake(KEYS[6], KEYS[7], cjson.encode({ name = 'relay-channel', data = { channelId = ARGV[7] }, payload = { horizon = horizon(), message = ARGV[9] } }))
`;

// KEYS: the open inserts.
const endedInsertsLua = `${nowLua}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ${doubtMs})
return { string.format('%.0f', now), unpack(redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ${maxDoubtful})) }
`;

const oldestLua = `${oldestInFlightLua}${nowLua}
return oldestInFlight(KEYS[1], now)
`;

/** The inserts that have ended. */
export interface EndedInserts {
  /** No insert with this id, or one below it, is under way. */
  upTo: string;
  /** Messages whose insert was not reported in time. It may still take effect although the database was to give it up. */
  doubtful: Pick<MessageDoc, '_id' | 'channelId'>[];
}

/** Ids that were taken for inserts, one for each channel. */
export interface Reservation {
  channelIds: readonly string[];
  ids: readonly string[];
  /** Whether the ids are recorded as in flight, which they are not while Redis is unavailable. */
  areInFlight: boolean;
  /** The entries in flight; null for an id that was taken while Redis was unavailable. */
  entries: readonly (string | null)[];
  /** Until when the inserts must have ended, by the process' monotonic clock: after that the ids expire. See `toTimeoutMs`. */
  deadlineMs: number;
}

/** What was stored under reserved ids. */
export interface InsertOutcome {
  /** Whether a message was stored under each of the ids. If so, they are recorded as the newest of their channels. */
  isStored: boolean;
  /** Whether the caller relays the channels itself, so that nobody is woken. Default: false. */
  isQuiet?: boolean;
  /** The messages, in the order of the ids. If they are given, the owner of a channel need not read them from the database. */
  messages?: readonly MessageDoc[];
}

/**
 * Gives messages ids such that the messages of a channel become readable, and are relayed, in the order of their ids.
 * - A writer takes the id from the id clock in Redis immediately before its insert. The same script records the id as in flight. A second script removes it
 *   after the insert. If the outcome of the insert is unknown, the entry stays until it expires; by then the insert can no longer take effect.
 * - A reader takes a bound from the same clock, waits until no smaller id is in flight, and reads below the bound (`waitForInserts`). So no message can later
 *   appear before or between those it returned, and a message whose 201 was sent before the read is included.
 * - The relay does not wait: it takes the messages below the oldest id in flight, and is woken when that insert has ended. A wake carries the current horizon.
 * While Redis is unavailable, ids come from the process' own clock and nothing waits: messages are posted and read, but their order is not guaranteed.
 */
export interface MessageOrder {
  /**
   * Takes a new id for each of `channelIds`. Every reservation is ended by `release`, or by `releaseFailed`. `after`: a time in Unix milliseconds that the ids are
   * above.
   */
  reserve(channelIds: readonly string[], after?: number): Promise<Reservation>;
  /**
   * Ends inserts, so that readers and the relay see it, and wakes the owners of the channels, unless it is quiet; never rejects. False when no worker was woken
   * for a channel: the caller then has to wake one.
   */
  release(reservation: Reservation, outcome: InsertOutcome): Promise<boolean>;
  /** Ends inserts that failed with `error`, unless it is unknown whether they can still take effect: then their ids expire. */
  releaseFailed(reservation: Reservation, error: unknown): void;
  /** Which inserts have ended. Rejects while Redis is unavailable. */
  readEndedInserts(): Promise<EndedInserts>;
  /** The current horizon of a channel, with its newest message; null while Redis is unavailable. */
  horizon(channelId: string): Promise<ChannelHorizon | null>;
  /** The newest message of each channel. */
  readonly newestMessages: NewestMessages;
  /** Waits until no id below the horizon is in flight, but not longer than an insert can last. Returns the bound. */
  waitForInserts(channelId: string, horizon: Horizon): Promise<string>;
}

/** Binds the order of messages to `redis`. `timeoutFactor` multiplies every wait for a store. */
export function createMessageOrder(redis: RedisClient, keys: Keys, ids: IdSource, timeoutFactor: number): MessageOrder {
  const reserveScript = bindScript<string>(redis, 'parlanceReserveId', reserveLua);
  const horizonScript = bindScript<HorizonReply>(redis, 'parlanceHorizon', readLua);
  const endScript = bindScript<number>(redis, 'parlanceEndInsert', endLua);
  const endedInsertsScript = bindScript<string[]>(redis, 'parlanceEndedInserts', endedInsertsLua);
  const oldestScript = bindScript<string>(redis, 'parlanceOldestInFlight', oldestLua);

  /** Takes a new id and records it as in flight; while Redis is unavailable, it is not recorded. */
  const reserveOne = async (channelId: string): Promise<{ id: string; entry: string | null }> => {
    if (redis.status === 'ready')
      try {
        const partition = keys.partitionOf(channelId);
        const entry = await reserveScript(
          [idClockKey(keys, partition), inFlightKey(keys, channelId), writesKey(keys, channelId), openInsertsKey(keys, partition)],
          [ids.lastMs(), ids.lastSequence(), partition, keys.partitions, inFlightTtlMs * timeoutFactor, channelId],
        );
        const [, ms, sequence] = entry.split(':').map(Number);
        ids.markUsed(ms as number, sequence);
        return { id: parseEntryId(entry) as string, entry };
      } catch {
        // Redis became unavailable in between; if the entry was made, it expires.
      }
    return { id: ids.next(), entry: null };
  };
  /** The keys and arguments of `horizonLua` for a channel. */
  const toHorizonArgs = (channelId: string): { horizonKeys: string[]; args: (string | number)[] } => {
    const partition = keys.partitionOf(channelId);
    const horizonKeys = [
      idClockKey(keys, partition),
      inFlightKey(keys, channelId),
      newestKey(keys, channelId),
      newestStateKey(keys, channelId),
      writesKey(keys, channelId),
    ];
    return { horizonKeys, args: [ids.lastMs(), ids.lastSequence(), partition, keys.partitions] };
  };
  /** Ends one insert; true when a worker was woken. `wakeMessage` is the message that the wake carries, '' for none stored. */
  const endInsert = async (
    channelId: string,
    entry: string | null,
    newestId: string | null,
    wakeMessage: string | undefined,
    isQuiet: boolean,
  ): Promise<boolean> => {
    if (entry === null && newestId === null) return false;
    const { horizonKeys, args } = toHorizonArgs(channelId);
    const message = entry === null || wakeMessage === undefined ? [] : [wakeMessage];
    const otherKeys = [...wakeChannels(keys, channelId), openInsertsKey(keys, keys.partitionOf(channelId))];
    const scriptArgs = [...args, entry ?? '', newestId ?? '', channelId, isQuiet ? 1 : '', ...message];
    return (await endScript([...horizonKeys, ...otherKeys], scriptArgs).catch(() => 0)) > 0;
  };

  const release = async (
    { channelIds, ids: reservedIds, entries }: Reservation,
    { isStored, messages = [], isQuiet = false }: InsertOutcome,
  ): Promise<boolean> => {
    const endAt = (channelId: string, at: number): Promise<boolean> =>
      endInsert(
        channelId,
        entries[at] ?? null,
        isStored ? (reservedIds[at] ?? null) : null,
        isStored ? toWakeMessage(messages[at]) : '',
        isQuiet,
      );
    return !(await Promise.all(channelIds.map(endAt))).includes(false);
  };

  return {
    newestMessages: createNewestMessages(redis, keys),
    async reserve(channelIds, after = 0) {
      ids.markUsed(after);
      const deadlineMs = performance.now() + insertTimeoutMs * timeoutFactor;
      const reserved = await Promise.all(channelIds.map(reserveOne));
      const entries = reserved.map(({ entry }) => entry);
      return { channelIds, ids: reserved.map(({ id }) => id), entries, areInFlight: !entries.includes(null), deadlineMs };
    },
    release,
    releaseFailed(reservation, error) {
      if (!isUnavailable(error)) void release(reservation, { isStored: false });
    },
    async readEndedInserts() {
      const replies = await Promise.all(
        Array.from({ length: keys.partitions }, (_, partition) => endedInsertsScript([openInsertsKey(keys, partition)], [])),
      );
      const nowMs = Math.min(...replies.map(([ms]) => Number(ms)));
      const doubtful = replies.flatMap(([, ...inserts]) => inserts).map((insert) => insert.split(' ') as [string, string]);
      return {
        upTo: composeId(nowMs - inFlightTtlMs * timeoutFactor, 0, 0),
        doubtful: doubtful.map(([entry, channelId]) => ({ _id: parseEntryId(entry) as string, channelId })),
      };
    },
    async horizon(channelId) {
      if (redis.status !== 'ready') return null;
      const { horizonKeys, args } = toHorizonArgs(channelId);
      return readHorizon(await horizonScript(horizonKeys, args));
    },
    async waitForInserts(channelId, { below, oldest }) {
      const isNoneBelow = (entry: string | null): boolean => entry === null || entry >= below;
      if (!isNoneBelow(oldest))
        await pollUntil(inFlightTtlMs * timeoutFactor, async () =>
          isNoneBelow(parseEntryId(await oldestScript([inFlightKey(keys, channelId)], []).catch(() => ''))),
        );
      return below;
    },
  };
}
