import { limits } from '../../../base/limits.ts';
import type { EventData } from '../../../contract/events.ts';
import { bindScript, type ConnectOptions, impatient, type RedisClient } from '../redis.ts';
import { type Broadcast, broadcastPlace, markKey } from './append.ts';
import { type Entry, isEntry, readEntry } from './entry.ts';
import { type EpochState, type Epochs, isCurrentLua } from './epochs.ts';
import { accountPlace, type Keys } from './keys.ts';
import { type ConnectNode, createSubscriber } from './subscriber.ts';

/**
 * Control messages, which gateway nodes receive in addition to events.
 * - `access`: an account's credentials changed.
 * - `member`: an account's membership of a server changed.
 * - `taken`: a session has another owner now, or none (empty).
 * - `mark`: all entries of the partition up to `n` were published before this message. `active` lists each place with entries since the last mark, followed by
 *   the number of its last entry; `{}` for none.
 * - `broadcast`: an event without a log.
 * - `presence`: an account's presence changed. With `servers` it is for the bots in those servers, else for the sessions that watch the account.
 * - `presences`: the last published presences of these accounts, which this node asked for. It comes in order with the changes.
 */
export type Control =
  | { kind: 'access'; accountId: string }
  | { kind: 'member'; place: string; accountId: string }
  | { kind: 'taken'; accountId: string; session: string; owner: string }
  | { kind: 'mark'; k: number; n: number; id: number; active: string[] | object }
  | ({ kind: 'broadcast' } & Broadcast)
  | { kind: 'presence'; data: EventData<'PRESENCE_UPDATE'>; servers: readonly string[] | null }
  | { kind: 'presences'; id: number; accounts: readonly string[]; kept: readonly (string | false)[] };

/** The Pub/Sub channel of an account's control messages, which is the channel of its place. */
export const controlChannel = (keys: Keys, accountId: string): string => keys.channel(accountPlace(accountId));

/** The callbacks of a node for what it receives. */
export interface Listener {
  onEntry(place: string, entry: Entry): void;
  onControl(message: Control): void;
  /** The subscriptions of a partition were lost, have moved, or can be made again. Messages that were published meanwhile were missed. */
  onInterrupted(partition: number): void;
}

/** A part of a place's log to read: the entries with numbers above `after`. */
export interface Wanted {
  place: string;
  after: number;
}

/** The result of reading a part of a log. */
export interface Found {
  entries: Entry[];
  /** Whether these are all entries after `after`; false when the log does not reach back that far. */
  complete: boolean;
}

/** A node's access to the log: it subscribes to places and reads their logs. */
export interface LogReader {
  readonly partitions: number;
  partitionOf(place: string): number;
  /** Subscribes to places of a partition, and to this node's own channel there. Rejects while the connection is away. */
  subscribe(k: number, places: readonly string[]): Promise<void>;
  /** Unsubscribes from a place. Never rejects. */
  unsubscribe(place: string): void;
  /** Subscribes to presence changes of these accounts, which belong to partition `k`. Rejects while the connection is away. */
  watch(k: number, accountIds: readonly string[]): Promise<void>;
  /** Unsubscribes from the presence changes of an account. Never rejects. */
  unwatch(accountId: string): void;
  /** Subscribes to all presence changes of a partition that bots receive for their servers. Rejects while the connection is away. */
  watchForBots(k: number): Promise<void>;
  /** Unsubscribes from them in every partition. Never rejects. */
  unwatchForBots(): void;
  /** Publishes the presences of these accounts, which belong to partition `k`, to this node, as a control message with this id. */
  sendPresences(k: number, id: number, accountIds: readonly string[]): Promise<void>;
  /** Whether the subscribing connection of a partition is ready. */
  isUp(k: number): boolean;
  /** Reads the state of a partition's log. `seen` is the highest number that was sent to clients; it counts as acknowledged. */
  boot(k: number, seen: number): Promise<EpochState>;
  /** Publishes a mark for this node in partition `k`, after all earlier entries; `since` is the number of the last mark. False when Redis was restarted. */
  mark(k: number, id: number, since: number): Promise<boolean>;
  /** The places of a partition with entries after `since`, each with the number of its last one. */
  active(k: number, since: number): Promise<Map<string, number>>;
  /** The numbers of the entries of events in a place, from their marks; null for an event without a mark. */
  appended(place: string, eventIds: readonly string[]): Promise<(number | null)[]>;
  /** Reads parts of logs of one partition; the results are in the order of `wanted`. */
  read(k: number, wanted: readonly Wanted[]): Promise<Found[]>;
  close(): Promise<void>;
}

/** How many logs are read in one pipeline. */
const logsAtOnce = 64;

/**
 * Options of a subscribing connection. When the connection is lost, a command on it fails at once, because all subscriptions are made again anyway. A
 * connection without any traffic is closed: nothing else would show that events are being missed.
 */
export const subscriberOptions: ConnectOptions = {
  enableOfflineQueue: false,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: impatient.socketTimeout,
  connectTimeout: impatient.connectTimeout,
  retryStrategy: impatient.retryStrategy,
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

/** Parses the `rows` of a log after `after`. If the first entry's `previous` is above `after`, entries in between are gone. */
function foundIn(rows: readonly Row[], after: number): Found {
  const entries = rows.map(([, fields]) => readEntry(fields[1] as Buffer));
  const [first] = entries;
  return { entries, complete: first !== undefined && first.head.previous <= after && rows.length <= limits.replayEvents };
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
  listener: Listener,
): LogReader {
  const markScript = bindScript<number | null>(redis, 'parlanceMark', markLua);
  const presencesScript = bindScript<number>(redis, 'parlanceSendPresences', sendPresencesLua);
  const ownChannels = Array.from({ length: keys.partitions }, (_, k) => [`${keys.partition(k)}at:node:${nodeId}`]);
  ownChannels[keys.partitionOf(broadcastPlace)]?.push(keys.channel(broadcastPlace));
  const subscriber = createSubscriber(redis, keys, connect, {
    onMessage(channel, message) {
      if (isEntry(message)) listener.onEntry(keys.placeOf(channel), readEntry(message));
      else listener.onControl(JSON.parse(message.toString()) as Control);
    },
    onInterrupted: (k) => listener.onInterrupted(k),
  });

  const readSome = async (k: number, wanted: readonly Wanted[]): Promise<Found[]> => {
    const at = keys.partition(k);
    const pipeline = redis.pipeline();
    for (const { place, after } of wanted) pipeline.xrangeBuffer(`${at}log:${place}`, `(${after}-0`, '+', 'COUNT', limits.replayEvents + 1);
    return ((await pipeline.exec()) ?? []).map(([error, rows], index) => {
      if (error) throw error;
      return foundIn(rows as Row[], (wanted[index] as Wanted).after);
    });
  };

  return {
    partitions: keys.partitions,
    partitionOf: keys.partitionOf,
    subscribe: (k, places) => subscriber.subscribe(k, [...(ownChannels[k] ?? []), ...places.map((place) => keys.channel(place))]),
    unsubscribe: (place) => subscriber.unsubscribe(keys.partitionOf(place), keys.channel(place)),
    watch: (k, accountIds) => subscriber.subscribe(k, [...(ownChannels[k] ?? []), ...accountIds.map((id) => keys.presenceChannel(id))]),
    unwatch: (accountId) => subscriber.unsubscribe(keys.partitionOfAccount(accountId), keys.presenceChannel(accountId)),
    watchForBots: (k) => subscriber.subscribe(k, [keys.botPresenceChannel(k)]),
    unwatchForBots: () => {
      for (const k of ownChannels.keys()) subscriber.unsubscribe(k, keys.botPresenceChannel(k));
    },
    sendPresences: async (k, id, accountIds) =>
      void (await presencesScript([`${keys.partition(k)}published`, ownChannels[k]?.[0] as string], [id, ...accountIds])),
    isUp: (k) => subscriber.isUp(k),
    boot: (k, seen) => {
      epochs.acknowledge(k, seen);
      return epochs.boot(k);
    },
    async mark(k, id, since) {
      const at = keys.partition(k);
      const keysHere = [`${at}state`, `${at}n`, `${at}active`, ownChannels[k]?.[0] as string];
      return (await markScript(keysHere, [epochs.run(k), k, id, since])) !== null;
    },
    async active(k, since) {
      const found = await redis.zrangebyscore(`${keys.partition(k)}active`, `(${since}`, '+inf', 'WITHSCORES');
      return new Map(found.flatMap((place, at) => (at % 2 === 0 ? [[place, Number(found[at + 1])] as const] : [])));
    },
    async appended(place, eventIds) {
      const numbers = await redis.mget(eventIds.map((id) => markKey(keys, place, id)));
      return numbers.map((n) => (n === null ? null : Number(n)));
    },
    async read(k, wanted) {
      const at = keys.partition(k);
      const [keep, scores] = await Promise.all([
        redis.hget(`${at}state`, 'keep'),
        redis.zmscore(`${at}active`, ...wanted.map(({ place }) => place)),
      ]);
      const found = wanted.map(({ after }): Found => ({ entries: [], complete: after >= Number(keep ?? 0) }));
      const fresh = [...wanted.keys()].filter((index) => Number(scores[index] ?? 0) > (wanted[index] as Wanted).after);
      for (let from = 0; from < fresh.length; from += logsAtOnce) {
        const some = fresh.slice(from, from + logsAtOnce);
        const rows = await readSome(
          k,
          some.map((index) => wanted[index] as Wanted),
        );
        some.forEach((index, at_) => {
          found[index] = rows[at_] as Found;
        });
      }
      return found;
    },
    close: async () => subscriber.close(),
  };
}
