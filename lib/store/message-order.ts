import { refuse } from '../base/errors.ts';
import { type IdSource, idEpochMs } from '../base/ids.ts';
import { lookAgain } from '../base/look-again.ts';
import { isUnavailable } from './database.ts';
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
  toldOf,
  writesKey,
} from './horizon.ts';
import type { Keys } from './log/keys.ts';
import type { MessageDoc } from './models/message.ts';
import { createNewestMessages, type NewestMessages, newestKey, newestStateKey } from './newest-messages.ts';
import { bindScript, nowLua, type RedisClient } from './redis.ts';
import { wakeChannel } from './residents.ts';

/** How long an insert may take from the moment its ids are taken, in milliseconds, times STORE_PATIENCE: then the driver gives up and the database ends the command. */
const insertMs = 2_000;
/** How long an id stays in flight unless it is released, in milliseconds, times STORE_PATIENCE: longer than its insert can still take effect. */
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

// The insert has ended: its id is in flight no longer, and the newest of its channel if it was stored. The worker that stays with the channel, if any, is woken
// with the horizon and what was stored. KEYS and ARGV as above, and: the channel that wakes; the entry in flight, the id if it was stored, the Parlance channel, and
// the message as `ToldWrite` has it, if that is told.
const endLua = `${horizonLua}
if ARGV[5] ~= '' then redis.call('ZREM', KEYS[2], ARGV[5]) end
if ARGV[6] ~= '' then noteNewest(KEYS[4], KEYS[3], ARGV[6], true) end
return redis.call('PUBLISH', KEYS[6], cjson.encode({ data = { channelId = ARGV[7] }, told = { horizon = horizon(), message = ARGV[8] } }))
`;

const oldestLua = `${oldestInFlightLua}${nowLua}
return oldestInFlight(KEYS[1], now)
`;

/** How an insert ended. */
export interface Stored<T> {
  result: T;
  /** Whether it stored a message under each of its ids: those are noted as the newest of their channels. */
  isStored: boolean;
  /** The messages, if the worker that stays with a channel is to be told: it need not look them up then. */
  messages?: readonly MessageDoc[];
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
  horizon(channelId: string): Promise<ChannelHorizon | null>;
  /** The newest message of each channel. */
  readonly newest: NewestMessages;
  /** Waits until no id below the horizon is in flight, at most as long as an insert can last; answers the bound. */
  settled(channelId: string, horizon: Horizon): Promise<string>;
}

/** An id that was taken, and its entry in flight; null when it was taken while Redis was away. */
interface Reserved {
  id: string;
  entry: string | null;
}

/** Binds the order of messages to `redis`. `timeoutFactor` stretches every wait for a store. */
export function createMessageOrder(redis: RedisClient, keys: Keys, ids: IdSource, timeoutFactor: number): MessageOrder {
  const reserveScript = bindScript<string>(redis, 'parlanceReserveId', reserveLua);
  const horizonScript = bindScript<HorizonReply>(redis, 'parlanceHorizon', readLua);
  const endScript = bindScript<number>(redis, 'parlanceEndInsert', endLua);
  const oldestScript = bindScript<string>(redis, 'parlanceOldestInFlight', oldestLua);

  /** A new id, with its entry in flight; without one while Redis is away. */
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
  /** What a script needs that reads the horizon of a channel. */
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
  /** True when a worker was woken. `told`: what it is told was stored. */
  const end = async (channelId: string, entry: string | null, newest: string | null, told: string | undefined): Promise<boolean> => {
    if (entry === null && newest === null) return false;
    const { keysOf, args } = horizonOf(channelId);
    const wake = wakeChannel(keys, 'relay-channel', { channelId });
    const message = entry === null || told === undefined ? [] : [told];
    return (await endScript([...keysOf, wake], [...args, entry ?? '', newest ?? '', channelId, ...message]).catch(() => 0)) > 0;
  };

  return {
    newest: createNewestMessages(redis, keys),
    async write(channelIds, insert) {
      const until = performance.now() + insertMs * timeoutFactor;
      const reserved = await Promise.all(channelIds.map(reserve));
      const endAll = async (isStored: boolean, messages: readonly MessageDoc[] = []): Promise<boolean> => {
        const endOne = ({ id, entry }: Reserved, at: number): Promise<boolean> =>
          end(channelIds[at] as string, entry, isStored ? id : null, isStored ? toldOf(messages[at]) : '');
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
