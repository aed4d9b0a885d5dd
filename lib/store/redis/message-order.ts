import { refuse } from '../../base/errors.ts';
import { type IdSource, idEpochMs } from '../../base/ids.ts';
import { lookAgain } from '../../base/look-again.ts';
import { isUnavailable } from '../mongo/database.ts';
import type { MessageDoc } from '../mongo/models/message.ts';
import { wakeChannel } from '../queue/residents.ts';
import {
  type ChannelHorizon,
  type Horizon,
  type HorizonReply,
  horizonLua,
  idClockKey,
  idOfEntry,
  inFlightKey,
  oldestInFlightLua,
  readHorizon,
  takeIdLua,
  toWakeMessage,
  writesKey,
} from './horizon.ts';
import type { Keys } from './log/keys.ts';
import { createNewestMessages, type NewestMessages, newestKey, newestStateKey } from './newest-messages.ts';
import { bindScript, nowLua, type RedisClient } from './redis.ts';

/**
 * How long an insert may take from the moment its ids are taken, in milliseconds, times STORE_PATIENCE. After that the driver gives up and the database aborts
 * the command.
 */
const insertMs = 2_000;
/** How long an id stays in flight if it is not released, in milliseconds, times STORE_PATIENCE. Its insert cannot take effect any more after that. */
const inFlightMs = insertMs + 500;

const reserveLua = `${takeIdLua}${nowLua}
local ms, seq = takeId(KEYS[1], now, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
local entry = string.format('%.0f:%.0f:%d', now + ARGV[5], ms, seq)
redis.call('ZADD', KEYS[2], string.format('%.0f', (ms - ${idEpochMs}) * 4096 + seq), entry)
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('INCR', KEYS[3])
redis.call('PEXPIRE', KEYS[3], 60000 + ARGV[5])
return entry
`;

const readLua = `${horizonLua}
return horizon()
`;

// Ends an insert: removes its id from those in flight, and records the id as the newest of its channel if a message was stored. Wakes the worker that stays
// with the channel, if there is one, with the horizon and the message. KEYS: those of `horizonLua`, and the Pub/Sub channel of the wake. ARGV: those of
// `horizonLua`, the entry in flight, the id if a message was stored, the id of the chat channel, and `message` of `WakePayload`, if the wake carries it.
const endLua = `${horizonLua}
if ARGV[5] ~= '' then redis.call('ZREM', KEYS[2], ARGV[5]) end
if ARGV[6] ~= '' then noteNewest(KEYS[4], KEYS[3], ARGV[6], true) end
return redis.call('PUBLISH', KEYS[6], cjson.encode({ data = { channelId = ARGV[7] }, payload = { horizon = horizon(), message = ARGV[8] } }))
`;

const oldestLua = `${oldestInFlightLua}${nowLua}
return oldestInFlight(KEYS[1], now)
`;

/** How an insert ended. */
export interface Stored<T> {
  result: T;
  /** Whether it stored a message under each of its ids. If so, they are recorded as the newest of their channels. */
  isStored: boolean;
  /** The messages, in the order of the ids. If they are given, a worker that stays with a channel need not read them from the database. */
  messages?: readonly MessageDoc[];
}

/** The result of an insert, and a promise for the release of its ids. */
export interface Written<T> {
  result: T;
  /**
   * Resolves once readers and the relay can see that the insert has ended; never rejects. False when a channel had no worker to wake: the caller then has to
   * wake the relay.
   */
  released: Promise<boolean>;
}

/**
 * Gives messages ids such that the messages of a channel become readable, and are relayed, in the order of their ids.
 * - A writer takes the id from the id clock in Redis immediately before its insert. The same script records the id as in flight. A second script removes it
 *   after the insert. If the outcome of the insert is unknown, the entry stays until it expires; by then the insert can no longer take effect.
 * - A reader takes a bound from the same clock, waits until no smaller id is in flight, and reads below the bound (`settled`). So no message can later appear
 *   before or between those it returned, and a message whose 201 was sent before the read is included.
 * - The relay does not wait: it takes the messages below the oldest id in flight, and is woken when that insert has ended. A wake carries the current horizon.
 * While Redis is away, ids come from the process' own clock and nothing waits: messages are posted and read, but their order is not guaranteed.
 */
export interface MessageOrder {
  /**
   * Runs `insert` with a new id for each of `channelIds`. `insert` must pass the options that `within` returns to the database: their timeout ends the command
   * before the ids expire. `within` refuses `unavailable` if the process was paused for so long that they may have expired. If `insert` rejects, its ids are
   * released too, unless the outcome is unknown.
   */
  write<T>(
    channelIds: readonly string[],
    insert: (ids: string[], within: () => { timeoutMS: number }) => Promise<Stored<T>>,
  ): Promise<Written<T>>;
  /** The current horizon of a channel, with its newest message; null while Redis is away. */
  horizon(channelId: string): Promise<ChannelHorizon | null>;
  /** The newest message of each channel. */
  readonly newest: NewestMessages;
  /** Waits until no id below the horizon is in flight, but not longer than an insert can last. Returns the bound. */
  settled(channelId: string, horizon: Horizon): Promise<string>;
}

/** An id that was taken, and its entry in flight; null when it was taken while Redis was away. */
interface Reserved {
  id: string;
  entry: string | null;
}

/** Binds the order of messages to `redis`. `timeoutFactor` multiplies every wait for a store. */
export function createMessageOrder(redis: RedisClient, keys: Keys, ids: IdSource, timeoutFactor: number): MessageOrder {
  const reserveScript = bindScript<string>(redis, 'parlanceReserveId', reserveLua);
  const horizonScript = bindScript<HorizonReply>(redis, 'parlanceHorizon', readLua);
  const endScript = bindScript<number>(redis, 'parlanceEndInsert', endLua);
  const oldestScript = bindScript<string>(redis, 'parlanceOldestInFlight', oldestLua);

  /** Takes a new id and records it as in flight; while Redis is away, it is not recorded. */
  const reserve = async (channelId: string): Promise<Reserved> => {
    if (redis.status === 'ready')
      try {
        const k = keys.partitionOf(channelId);
        const entry = await reserveScript(
          [idClockKey(keys, k), inFlightKey(keys, channelId), writesKey(keys, channelId)],
          [ids.lastMs(), ids.lastSequence(), k, keys.partitions, inFlightMs * timeoutFactor],
        );
        const [, ms, sequence] = entry.split(':').map(Number);
        ids.note(ms as number, sequence);
        return { id: idOfEntry(entry) as string, entry };
      } catch {
        // Redis went away in between; if the entry was made, it expires.
      }
    return { id: ids.next(), entry: null };
  };
  /** The keys and arguments of `horizonLua` for a channel. */
  const horizonOf = (channelId: string): { keysOf: string[]; args: (string | number)[] } => {
    const k = keys.partitionOf(channelId);
    const keysOf = [
      idClockKey(keys, k),
      inFlightKey(keys, channelId),
      newestKey(keys, channelId),
      newestStateKey(keys, channelId),
      writesKey(keys, channelId),
    ];
    return { keysOf, args: [ids.lastMs(), ids.lastSequence(), k, keys.partitions] };
  };
  /** Ends one insert; true when a worker was woken. `wakeMessage` is the message that the wake carries, '' for none stored. */
  const end = async (channelId: string, entry: string | null, newest: string | null, wakeMessage: string | undefined): Promise<boolean> => {
    if (entry === null && newest === null) return false;
    const { keysOf, args } = horizonOf(channelId);
    const wake = wakeChannel(keys, 'relay-channel', { channelId });
    const message = entry === null || wakeMessage === undefined ? [] : [wakeMessage];
    return (await endScript([...keysOf, wake], [...args, entry ?? '', newest ?? '', channelId, ...message]).catch(() => 0)) > 0;
  };

  return {
    newest: createNewestMessages(redis, keys),
    async write(channelIds, insert) {
      const until = performance.now() + insertMs * timeoutFactor;
      const reserved = await Promise.all(channelIds.map(reserve));
      const endAll = async (isStored: boolean, messages: readonly MessageDoc[] = []): Promise<boolean> => {
        const endOne = ({ id, entry }: Reserved, at: number): Promise<boolean> =>
          end(channelIds[at] as string, entry, isStored ? id : null, isStored ? toWakeMessage(messages[at]) : '');
        const woken = await Promise.all(reserved.map(endOne));
        return !woken.includes(false);
      };
      const within = (): { timeoutMS: number } => {
        const timeoutMS = Math.floor(until - performance.now());
        return timeoutMS > 0 ? { timeoutMS } : refuse('unavailable');
      };
      try {
        const { result, isStored, messages } = await insert(
          reserved.map(({ id }) => id),
          within,
        );
        return { result, released: endAll(isStored, messages) };
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
