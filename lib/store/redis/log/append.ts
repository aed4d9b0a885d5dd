import { groupBy } from '../../../base/group-by.ts';
import { limits } from '../../../base/limits.ts';
import type { Metrics } from '../../../base/metrics.ts';
import { perTurn } from '../../../base/per-turn.ts';
import type { EventData, EventName } from '../../../contract/events.ts';
import { idClockKey, inFlightKey } from '../horizon.ts';
import { bindScript, nowLua, type RedisClient, readKeys, retryDuringFailover } from '../redis.ts';
import { areChangesRelayedLua, changesKey } from '../server-changes.ts';
import { type Appended, findHighestPerEpoch } from './confirm.ts';
import { serializeHeadStart, type Visibility } from './entry.ts';
import { type Epochs, isCurrentLua } from './epochs.ts';
import { type Keys, versionKey } from './keys.ts';

/** An event for the log of a place. */
export interface NewEntry extends Visibility {
  /** The event's id. However often it is appended, it is in the log of a place only once. */
  id: string;
  name: EventName;
  /** The payload as JSON. It holds no secrets: the gateway adds an interaction's token. */
  payload: string;
  /** The traceparent of the append, if the event is traced. */
  trace?: string;
  /** The format of the entry; without it, 1. */
  format?: number;
  /** For an event of a change of a server, the time of the change, in milliseconds. Not stored. */
  changeMs?: number;
  /** For the MESSAGE_CREATE of a new message, whose id it has, the channel of the message. Not stored. */
  newIn?: string;
}

/** Another worker has relayed changes of the server since the events were read. They must be read again. */
export class ChangesRelayed extends Error {}

/** Events of a server's earlier changes are not in the log yet. They must be relayed first. */
export class ChangesPending extends Error {
  readonly serverId: string;
  /** `afterChanges` for the next call of `append`, so that it waits for no later changes. */
  readonly afterChanges: number;

  constructor(serverId: string, afterChanges: number) {
    super('earlier changes of the server are not relayed yet');
    this.serverId = serverId;
    this.afterChanges = afterChanges;
  }
}

/** How long the mark of an event is kept, in milliseconds: while it is not acknowledged, and after that, for as long as a process may be paused. */
const markTtlMs = { pending: 24 * 3_600_000, acknowledged: 10 * 60_000 };

// Appends the events that are not in the log of a place yet, in order; all of them or none. KEYS: state, n, active, the log, the average size of its entries,
// the Pub/Sub channel, the state of the server's changes, those under way, the id clock, the version of the server's access data, the newest message of the
// channel whose MESSAGE_CREATE is in the log, and the mark of each event. ARGV: run, place, whether the changes of the server must be relayed first (`1` or ''),
// those before which time (or ''), the time up to which changes must have been relayed for events of changes and the one that is recorded then (or ''), the id of
// the last new message (or ''), and the head and payload of each event. A log holds up to `limits.replayEvents` entries, or fewer if they are large, so that it
// stays below `limits.logBytesPerPlace`.
const appendLua = `
${isCurrentLua}${areChangesRelayedLua}
if not isCurrent(KEYS[1], ARGV[1]) then return false end
if ARGV[3] ~= '' then
  ${nowLua}
  if not areChangesRelayed(KEYS[1], KEYS[7], KEYS[8], now, tonumber(ARGV[4])) then
    local clockMs = tonumber(redis.call('HGET', KEYS[9], 'ms') or '0')
    return { 'pending', string.format('%.0f', math.max(now, clockMs) + 1) }
  end
end
if ARGV[5] ~= '' then
  local known, epoch = redis.call('HMGET', KEYS[7], 'epoch', 'relayed'), redis.call('HGET', KEYS[1], 'epoch') or '0'
  if (known[1] == epoch and tonumber(known[2] or '0') or 0) ~= tonumber(ARGV[5]) then return { 'relayed' } end
  redis.call('HSET', KEYS[7], 'epoch', epoch, 'relayed', ARGV[6])
end
local version = redis.call('GET', KEYS[10]) or '0' -- for nodes of the version before
local prev = redis.call('ZSCORE', KEYS[3], ARGV[2]) or '0'
local size, out, fresh = tonumber(redis.call('GET', KEYS[5]) or '512'), {}, false
for i = 12, #KEYS do
  local n = redis.call('GET', KEYS[i])
  if not n then
    n, fresh = string.format('%.0f', redis.call('INCR', KEYS[2])), true
    local at = 2 * i - 16
    local message = ARGV[at]..',"rulesVersion":"'..version..'","number":'..n..',"previous":'..prev..'}\\n'..ARGV[at + 1]
    size = size + (#message - size) / 16
    redis.call('XADD', KEYS[4], 'MAXLEN', '~', math.max(16, math.min(${limits.replayEvents}, math.floor(${limits.logBytesPerPlace} / size))), n..'-0', 'm', message)
    redis.call('SET', KEYS[i], n, 'PX', ${markTtlMs.pending})
    redis.call('PUBLISH', KEYS[6], message)
    prev = n
  end
  out[i - 11] = n
end
if ARGV[7] ~= '' and string.sub(redis.call('GET', KEYS[11]) or '', 1, 19) < ARGV[7] then
  redis.call('SET', KEYS[11], ARGV[7]..' '..out[#out], 'PX', ${markTtlMs.pending})
end
if fresh then
  redis.call('ZADD', KEYS[3], prev, ARGV[2])
  redis.call('SET', KEYS[5], string.format('%.0f', size), 'PX', ${limits.sessionRetentionMs})
  redis.call('PEXPIRE', KEYS[4], ${limits.sessionRetentionMs})
end
return out
`;

// KEYS: mark, channel. ARGV: message.
const broadcastLua = `
if not redis.call('SET', KEYS[1], '1', 'NX', 'PX', ${markTtlMs.acknowledged}) then return 0 end
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1
`;

// KEYS: marks. A mark that Redis has lost is set again, with 0 as its number.
const expireMarksLua = `
for i = 1, #KEYS do
  if redis.call('PEXPIRE', KEYS[i], ${markTtlMs.acknowledged}) == 0 then redis.call('SET', KEYS[i], '0', 'PX', ${markTtlMs.acknowledged}) end
end
`;

/** The key of an event's mark. It holds the number of the event's entry, or 0 if the event was acknowledged after Redis had lost the mark. */
export const markKey = (keys: Keys, place: string, eventId: string): string =>
  `${keys.partitionPrefix(keys.partitionOf(place))}mark:${place}:${eventId}`;

/** The key of the newest message of a channel whose MESSAGE_CREATE is in the log of a place: `<id> <number of the entry>`. */
const newestRelayedKey = (keys: Keys, place: string, channelId: string): string =>
  `${keys.partitionPrefix(keys.partitionOf(place))}relayed:${place}:${channelId}`;

/** The numbers of the entries of these events, from their marks; null for an event without a mark. Rejects while Redis is unavailable. */
export async function readAppendedNumbers(redis: RedisClient, keys: Keys, events: readonly Marked[]): Promise<(number | null)[]> {
  const marks = events.map(({ place, id }) => markKey(keys, place, id));
  return (await readKeys(redis, marks)).map((number) => (number === null ? null : Number(number)));
}

/** How many events and bytes one script call appends at most. Redis is blocked during the call. */
const maxEventsPerCall = 100;
const maxBytesPerCall = 256 * 1024;

/** Splits `events` into parts, one for each script call. */
function splitIntoCalls(events: readonly NewEntry[]): NewEntry[][] {
  const calls: NewEntry[][] = [];
  let bytes = 0;
  for (const event of events) {
    const lastCall = calls.at(-1);
    bytes += event.payload.length;
    if (lastCall && lastCall.length < maxEventsPerCall && bytes <= maxBytesPerCall) lastCall.push(event);
    else {
      calls.push([event]);
      bytes = event.payload.length;
    }
  }
  return calls;
}

/** The time before which all changes are relayed after these events, which are in the order of changes. */
export const findChangeMs = (events: readonly NewEntry[], fromMs: number): number =>
  events.reduce((latest, { changeMs = 0 }) => Math.max(latest, changeMs), fromMs);

/** By partition, the epoch in which earlier events were appended that are not acknowledged yet. */
export type EpochsByPartition = ReadonlyMap<number, number>;

/** The options of `append`. */
export interface AppendOptions {
  requiredEpochs?: EpochsByPartition | undefined;
  afterChanges?: number | 'now' | undefined;
  /** For events of changes of the server: up to when changes had been relayed when they were read, in milliseconds. */
  relayedMs?: number | undefined;
}

/** The argument for `confirm`, and the number of each event; 0 if it is not known, because the event was appended or left out before. */
export interface AppendResult {
  appended: Appended[];
  numbers: number[];
}

const toAppended = (partition: number, numbers: readonly number[], appendEpoch: number): Appended[] =>
  findHighestPerEpoch(numbers.filter((number) => number > 0)).map((number) => ({ partition, number, appendEpoch }));

/**
 * The newest message of a channel whose MESSAGE_CREATE is in the log of a place, or was within the last 24 hours; its id is '' for none. Those of all older new
 * messages are in the log before it, unless Redis lost which inserts were under way. `appended` is the argument for `confirm`.
 */
export interface NewestRelayed {
  id: string;
  appended: Appended[];
}

/** An event in the log of a place, and its mark. */
export type Marked = Pick<NewEntry, 'id' | 'newIn'> & { place: string };

/** What a worker uses to append to the log. */
export interface Appender {
  /**
   * Appends events to a place in their order, each only once however often it is called. Rejects while Redis is unavailable. Also rejects when the epoch ends
   * in between, or when an epoch of `requiredEpochs` has ended: the earlier events may be lost, and must be appended again first. With `afterChanges` rejects
   * with `ChangesPending` if events of the server's changes are not relayed: of those before this time in milliseconds, or before `now`. With `relayedMs` rejects
   * with `ChangesRelayed` if another worker has relayed changes of the server meanwhile.
   */
  readonly append: (place: string, events: readonly NewEntry[], options?: AppendOptions) => Promise<AppendResult>;
  /** Reads the newest message of a channel that is relayed to a place. Rejects while Redis is unavailable. */
  readonly readNewestRelayed: (place: string, channelId: string) => Promise<NewestRelayed>;
  /** Whether each of these events has a mark: it is in the log of its place, or was acknowledged within the last 10 minutes. With the argument for `confirm`. */
  readonly readMarks: (events: readonly Marked[]) => Promise<{ isMarked: boolean[]; appended: Appended[] }>;
  /**
   * Lets the marks of acknowledged events expire after the time for which a worker may be paused after it has read these events. The marks of new messages stay
   * until the sweep has seen them. Never rejects.
   */
  readonly expireMarks: (events: readonly Marked[]) => Promise<void>;
  /** Publishes an event without a log to all nodes, once for each id. Sessions that are not connected miss it. Rejects while Redis is unavailable. */
  readonly broadcast: (message: Broadcast) => Promise<void>;
}

/** An event without a log, for the sessions of these accounts and of the members of these servers. */
export interface Broadcast {
  id: string;
  name: 'USER_UPDATE';
  data: EventData<'USER_UPDATE'>;
  servers: readonly string[];
  accounts: readonly string[];
}

/** The place whose Pub/Sub channel carries broadcasts. */
export const broadcastPlace = 'broadcast';

/** Binds the scripts to `redis`. The metric `events` counts the events that are appended or broadcast. */
export function createAppender(redis: RedisClient, keys: Keys, epochs: Epochs, events: Metrics['events']): Appender {
  const appendScript = bindScript<string[] | ['pending', string] | null>(redis, 'parlanceAppend', appendLua);
  const broadcastScript = bindScript<number>(redis, 'parlanceBroadcast', broadcastLua);
  const expireMarksScript = bindScript<null>(redis, 'parlanceExpireMarks', expireMarksLua);

  /** Appends events by one script call and returns its numbers; null when the epoch is not `requiredEpoch`, and why it must not append them now. */
  const appendCall = async (
    place: string,
    callEvents: readonly NewEntry[],
    requiredEpoch: number | undefined,
    { afterChanges, relayedMs }: AppendOptions,
  ): Promise<number[] | ChangesPending | ChangesRelayed | null> => {
    const partition = keys.partitionOf(place);
    const prefix = keys.partitionPrefix(partition);
    const id = place.slice(place.indexOf(':') + 1);
    const lastNew = callEvents.findLast(({ newIn }) => newIn !== undefined);
    const ownKeys = [
      `${prefix}state`,
      `${prefix}n`,
      `${prefix}active`,
      `${prefix}log:${place}`,
      `${prefix}size:${place}`,
      keys.channel(place),
      changesKey(keys, id),
      inFlightKey(keys, id),
      idClockKey(keys, partition),
      versionKey(keys, id),
      newestRelayedKey(keys, place, lastNew?.newIn ?? ''),
    ];
    const options = [
      afterChanges === undefined ? '' : 1,
      typeof afterChanges === 'number' ? afterChanges : '',
      relayedMs ?? '',
      relayedMs === undefined ? '' : findChangeMs(callEvents, relayedMs),
      lastNew?.id ?? '',
    ];
    const args = callEvents.flatMap(({ payload, changeMs: _changeMs, newIn: _newIn, ...head }) => [serializeHeadStart(head), payload]);
    for (let attempts = 0; attempts < 3; attempts++) {
      if (epochs.runId(partition) === '') await epochs.syncEpoch(partition);
      if (requiredEpoch !== undefined && epochs.epoch(partition) !== requiredEpoch) return null;
      const reply = await appendScript(
        [...ownKeys, ...callEvents.map((event) => markKey(keys, place, event.id))],
        [epochs.runId(partition), place, ...options, ...args],
      );
      if (reply?.[0] === 'pending') return new ChangesPending(id, Number(reply[1]));
      if (reply?.[0] === 'relayed') return new ChangesRelayed();
      if (reply) return reply.map(Number);
      await epochs.syncEpoch(partition);
    }
    throw new Error('Redis restarted several times while events were appended');
  };

  const expireMark = Array.from({ length: keys.partitions }, () =>
    perTurn<string, null>(async (marks) => {
      await expireMarksScript([...marks], []).catch(() => undefined);
      return marks.map(() => null);
    }),
  );

  return {
    async append(place, newEntries, { requiredEpochs, afterChanges, relayedMs } = {}) {
      const partition = keys.partitionOf(place);
      const numbers: number[] = [];
      let requiredEpoch = requiredEpochs?.get(partition);
      let fromMs = relayedMs;
      for (const callEvents of splitIntoCalls(newEntries)) {
        const options = { afterChanges, relayedMs: fromMs };
        const callNumbers = await retryDuringFailover(redis, () => appendCall(place, callEvents, requiredEpoch, options));
        if (callNumbers instanceof Error) throw callNumbers;
        if (fromMs !== undefined) fromMs = findChangeMs(callEvents, fromMs);
        if (!callNumbers) throw new Error('Redis may have lost earlier events');
        numbers.push(...callNumbers);
        requiredEpoch = epochs.epoch(partition);
        for (const { name } of callEvents) events.inc({ event: name });
      }
      return { numbers, appended: toAppended(partition, numbers, requiredEpoch as number) };
    },
    async readNewestRelayed(place, channelId) {
      const partition = keys.partitionOf(place);
      if (epochs.runId(partition) === '') await epochs.syncEpoch(partition);
      const [id = '', number = 0] = (await redis.get(newestRelayedKey(keys, place, channelId)))?.split(' ') ?? [];
      return { id, appended: toAppended(partition, [Number(number)], epochs.epoch(partition)) };
    },
    async readMarks(marked) {
      const numbers = await readAppendedNumbers(redis, keys, marked);
      const byPartition = groupBy([...numbers.keys()], (index) => keys.partitionOf((marked[index] as Marked).place));
      const toNumbers = (indexes: readonly number[]): number[] => indexes.map((index) => numbers[index] ?? 0);
      return {
        isMarked: numbers.map((number) => number !== null),
        appended: [...byPartition].flatMap(([partition, indexes]) => toAppended(partition, toNumbers(indexes), epochs.epoch(partition))),
      };
    },
    async expireMarks(acknowledged) {
      const isAcknowledged = ({ newIn }: Marked): boolean => newIn === undefined;
      await Promise.all(
        acknowledged.filter(isAcknowledged).map(({ place, id }) => {
          const expire = expireMark[keys.partitionOf(place)] as (typeof expireMark)[number];
          return expire(markKey(keys, place, id));
        }),
      );
    },
    async broadcast(message) {
      const at = [markKey(keys, broadcastPlace, message.id), keys.channel(broadcastPlace)];
      if (await broadcastScript(at, [JSON.stringify({ kind: 'broadcast', ...message })])) events.inc({ event: message.name });
    },
  };
}
