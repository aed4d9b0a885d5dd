import { groupBy } from '../../../base/group-by.ts';
import { limits } from '../../../base/limits.ts';
import { toParts } from '../../../base/parts.ts';
import type { EventData } from '../../../contract/events.ts';
import { bindScript, type ConnectOptions, failFast, type RedisClient } from '../redis.ts';
import { type Broadcast, broadcastPlace, readAppendedNumbers } from './append.ts';
import { type Entry, isEntry, readEntry } from './entry.ts';
import { type EpochState, type Epochs, isCurrentLua } from './epochs.ts';
import { accountPlace, type Keys } from './keys.ts';
import { type ConnectNode, createSubscriber } from './subscriber.ts';

/**
 * Control messages, which gateway nodes receive in addition to events.
 * - `access`: an account's credentials changed.
 * - `taken`: a session has another owner now, or none (empty).
 * - `mark`: all entries of the partition up to `n` were published before this message. `active` lists each place with entries since the last mark, followed by
 *   the number of its last entry; `{}` for none.
 * - `broadcast`: an event without a log.
 * - `presence`: an account's presence changed. With `servers` it is for the bots in those servers, else for the sessions that watch the account.
 * - `presences`: the last published presences of these accounts, which this node asked for. It comes in order with the changes.
 */
export type ControlMessage =
  | { kind: 'access'; accountId: string }
  | { kind: 'taken'; accountId: string; session: string; owner: string }
  | { kind: 'mark'; k: number; n: number; id: number; active: string[] | object }
  | ({ kind: 'broadcast' } & Broadcast)
  | { kind: 'presence'; data: EventData<'PRESENCE_UPDATE'>; servers: readonly string[] | null }
  | { kind: 'presences'; id: number; accounts: readonly string[]; kept: readonly (string | false)[] };

/** The Pub/Sub channel of an account's control messages, which is the channel of its place. */
export const controlChannel = (keys: Keys, accountId: string): string => keys.channel(accountPlace(accountId));

/** The callbacks of a node for what it receives. */
export interface LogListener {
  onEntry(place: string, entry: Entry): void;
  onControl(message: ControlMessage): void;
  /**
   * The subscriptions of a partition were lost, have moved, or can be made again, or an entry cannot be read by this version. Messages that were published
   * meanwhile were missed.
   */
  onInterrupted(partition: number): void;
}

/** A part of a place's log to read: the entries with numbers above `after`. */
export interface LogRange {
  place: string;
  after: number;
}

/** The result of reading a part of a log. */
export interface LogSlice {
  entries: Entry[];
  /** Whether these are all entries after `after`; false when the log does not reach back that far. */
  isComplete: boolean;
}

/** A node's access to the log: it subscribes to places and reads their logs. */
export interface LogReader {
  readonly partitions: number;
  partitionOf(place: string): number;
  /** Subscribes to places of a partition, and to this node's own channel there. Rejects while the connection is unavailable. */
  subscribe(partition: number, places: readonly string[]): Promise<void>;
  /** Unsubscribes from places. Never rejects. */
  unsubscribe(places: readonly string[]): void;
  /** Subscribes to presence changes of these accounts, which belong to `partition`. Rejects while the connection is unavailable. */
  watch(partition: number, accountIds: readonly string[]): Promise<void>;
  /** Unsubscribes from the presence changes of an account. Never rejects. */
  unwatch(accountId: string): void;
  /** Subscribes to all presence changes of a partition that bots receive for their servers. Rejects while the connection is unavailable. */
  watchForBots(partition: number): Promise<void>;
  /** Unsubscribes from them in every partition. Never rejects. */
  unwatchForBots(): void;
  /** Publishes the presences of these accounts, which belong to `partition`, to this node, as a control message with this id. */
  publishPresences(partition: number, id: number, accountIds: readonly string[]): Promise<void>;
  /** Whether the subscribing connection of a partition is ready. */
  isUp(partition: number): boolean;
  /** Reads the state of a partition's log. `sentNumber` is the highest number that was sent to clients; it counts as acknowledged. */
  syncEpoch(partition: number, sentNumber: number): Promise<EpochState>;
  /** Publishes a mark for this node in `partition`, after all earlier entries; `afterNumber` is that of the last mark. False when Redis was restarted. */
  publishMark(partition: number, id: number, afterNumber: number): Promise<boolean>;
  /** The places of a partition with entries after `afterNumber`, each with the number of its last one. */
  readActivePlaces(partition: number, afterNumber: number): Promise<Map<string, number>>;
  /** The numbers of the entries of events, from their marks; null for an event without a mark. */
  readAppendedNumbers(events: readonly { place: string; id: string }[]): Promise<(number | null)[]>;
  /** Reads parts of logs of one partition, or only the first entries of each; the results are in the order of `ranges`. */
  readLogs(partition: number, ranges: readonly LogRange[], maxEntries?: number): Promise<LogSlice[]>;
  close(): Promise<void>;
}

/** How many logs are read in one pipeline. */
const logsPerPipeline = 64;

/**
 * Options of a subscribing connection. When the connection is lost, a command on it fails at once, because all subscriptions are made again anyway. A
 * connection without any traffic is closed: nothing else would show that events are being missed.
 */
export const subscriberOptions: ConnectOptions = {
  enableOfflineQueue: false,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: failFast.socketTimeout,
  connectTimeout: failFast.connectTimeout,
  retryStrategy: failFast.retryStrategy,
};

// KEYS: state, n, active, the node's channel. ARGV: run, partition, id, since.
const markLua = `
${isCurrentLua}
if not isCurrent(KEYS[1], ARGV[1]) then return false end
local n = redis.call('GET', KEYS[2]) or '0'
local active = cjson.encode(redis.call('ZRANGEBYSCORE', KEYS[3], '('..ARGV[4], n, 'WITHSCORES'))
redis.call('PUBLISH', KEYS[4], '{"kind":"mark","k":'..ARGV[2]..',"n":'..n..',"id":'..ARGV[3]..',"active":'..active..'}')
return 1
`;

// KEYS: the published presences, the node's channel. ARGV: id, accounts.
const sendPresencesLua = `
local accounts = { unpack(ARGV, 2) }
local kept = redis.call('HMGET', KEYS[1], unpack(accounts))
redis.call('PUBLISH', KEYS[2], cjson.encode({ kind = 'presences', id = tonumber(ARGV[1]), accounts = accounts, kept = kept }))
return 1
`;

type Row = [id: Buffer, fields: Buffer[]];

/**
 * Parses the `rows` of a log after `after`. If the first entry's `previous` is above `after`, entries in between are gone. An entry that this version cannot
 * read counts as gone as well.
 */
function toLogSlice(rows: readonly Row[], after: number): LogSlice {
  const entries = rows.flatMap(([, fields]) => readEntry(fields[1] as Buffer) ?? []);
  if (entries.length < rows.length) return { entries: [], isComplete: false };
  const [first] = entries;
  return { entries, isComplete: first !== undefined && first.head.previous <= after && rows.length <= limits.replayEvents };
}

/**
 * Creates a reader that reads the log over `redis` and subscribes over connections of `connect`. The node has its own channel, named after `nodeId`, in each
 * partition.
 */
export function createLogReader(
  redis: RedisClient,
  connect: ConnectNode,
  keys: Keys,
  epochs: Epochs,
  nodeId: string,
  listener: LogListener,
): LogReader {
  const publishMarkScript = bindScript<number | null>(redis, 'parlanceMark', markLua);
  const publishPresencesScript = bindScript<number>(redis, 'parlanceSendPresences', sendPresencesLua);
  const ownChannels = Array.from({ length: keys.partitions }, (_, partition) => [`${keys.partitionPrefix(partition)}at:node:${nodeId}`]);
  ownChannels[keys.partitionOf(broadcastPlace)]?.push(keys.channel(broadcastPlace));
  const subscriber = createSubscriber(redis, keys, connect, {
    onMessage(channel, message) {
      if (!isEntry(message)) return listener.onControl(JSON.parse(message.toString()) as ControlMessage);
      const entry = readEntry(message);
      if (entry) listener.onEntry(keys.placeOf(channel), entry);
      else listener.onInterrupted(keys.partitionOfChannel(channel));
    },
    onInterrupted: (partition) => listener.onInterrupted(partition),
  });

  const readLogBatch = async (partition: number, ranges: readonly LogRange[], maxEntries: number): Promise<LogSlice[]> => {
    const prefix = keys.partitionPrefix(partition);
    const pipeline = redis.pipeline();
    for (const { place, after } of ranges) pipeline.xrangeBuffer(`${prefix}log:${place}`, `(${after}-0`, '+', 'COUNT', maxEntries);
    return ((await pipeline.exec()) ?? []).map(([error, rows], index) => {
      if (error) throw error;
      return toLogSlice(rows as Row[], (ranges[index] as LogRange).after);
    });
  };

  return {
    partitions: keys.partitions,
    partitionOf: keys.partitionOf,
    subscribe: (partition, places) =>
      subscriber.subscribe(partition, [...(ownChannels[partition] ?? []), ...places.map((place) => keys.channel(place))]),
    unsubscribe(places) {
      for (const [partition, ofPartition] of groupBy(places, keys.partitionOf))
        subscriber.unsubscribe(
          partition,
          ofPartition.map((place) => keys.channel(place)),
        );
    },
    watch: (partition, accountIds) =>
      subscriber.subscribe(partition, [...(ownChannels[partition] ?? []), ...accountIds.map((id) => keys.presenceChannel(id))]),
    unwatch: (accountId) => subscriber.unsubscribe(keys.partitionOfAccount(accountId), [keys.presenceChannel(accountId)]),
    watchForBots: (partition) => subscriber.subscribe(partition, [keys.botPresenceChannel(partition)]),
    unwatchForBots: () => {
      for (const partition of ownChannels.keys()) subscriber.unsubscribe(partition, [keys.botPresenceChannel(partition)]);
    },
    publishPresences: async (partition, id, accountIds) =>
      void (await publishPresencesScript(
        [`${keys.partitionPrefix(partition)}published`, ownChannels[partition]?.[0] as string],
        [id, ...accountIds],
      )),
    isUp: (partition) => subscriber.isUp(partition),
    syncEpoch: (partition, sentNumber) => {
      epochs.acknowledge(partition, sentNumber);
      return epochs.syncEpoch(partition);
    },
    async publishMark(partition, id, afterNumber) {
      const prefix = keys.partitionPrefix(partition);
      const scriptKeys = [`${prefix}state`, `${prefix}n`, `${prefix}active`, ownChannels[partition]?.[0] as string];
      return (await publishMarkScript(scriptKeys, [epochs.runId(partition), partition, id, afterNumber])) !== null;
    },
    async readActivePlaces(partition, afterNumber) {
      const activePlaces = await redis.zrangebyscore(`${keys.partitionPrefix(partition)}active`, `(${afterNumber}`, '+inf', 'WITHSCORES');
      return new Map(activePlaces.flatMap((place, index) => (index % 2 === 0 ? [[place, Number(activePlaces[index + 1])] as const] : [])));
    },
    readAppendedNumbers: (events) => readAppendedNumbers(redis, keys, events),
    async readLogs(partition, ranges, maxEntries = limits.replayEvents + 1) {
      const prefix = keys.partitionPrefix(partition);
      const [oldestKeptNumber, lastNumbers] = await Promise.all([
        redis.hget(`${prefix}state`, 'keep'),
        redis.zmscore(`${prefix}active`, ...ranges.map(({ place }) => place)),
      ]);
      const slices = ranges.map(({ after }): LogSlice => ({ entries: [], isComplete: after >= Number(oldestKeptNumber ?? 0) }));
      const changedIndexes = [...ranges.keys()].filter((index) => Number(lastNumbers[index] ?? 0) > (ranges[index] as LogRange).after);
      for (const batch of toParts(changedIndexes, logsPerPipeline)) {
        const rows = await readLogBatch(
          partition,
          batch.map((index) => ranges[index] as LogRange),
          maxEntries,
        );
        batch.forEach((index, batchIndex) => {
          slices[index] = rows[batchIndex] as LogSlice;
        });
      }
      return slices;
    },
    close: async () => subscriber.close(),
  };
}
