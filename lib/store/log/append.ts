import { limits } from '../../base/limits.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { EventName } from '../../contract/events.ts';
import { bindScript, type RedisClient, throughFailover } from '../redis.ts';
import { type Appended, highestOfEpochs } from './confirm.ts';
import { openHead, type Visibility } from './entry.ts';
import { type Epochs, isCurrentLua } from './epochs.ts';
import { type Keys, versionKey } from './keys.ts';

/** An event for the log of a place. */
export interface Append extends Visibility {
  /** The event's id: it is appended to a place once, however often that is asked for. */
  id: string;
  name: EventName;
  /** The payload as JSON. It holds no secrets: the gateway adds an interaction's token. */
  payload: string;
}

/** How long the mark of an event is kept, in milliseconds: until it is acknowledged, and then for as long as a process may be paused. */
const markKeptMs = { pending: 24 * 3_600_000, acknowledged: 10 * 60_000 };

// Appends events to the log of a place, in order, those that are not there yet; all or none. KEYS: state, n, active, the log, its entries' size, the
// version of the server's access data, the channel, and for each event its mark. ARGV: run, place, and for each event its head and payload.
// The log holds so many entries, or fewer when they are large: its limit follows the average size.
const lua = `
${isCurrentLua}
if not isCurrent(KEYS[1], ARGV[1]) then return false end
local version = redis.call('GET', KEYS[6])
if not version then
  local time = redis.call('TIME')
  version = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  redis.call('SET', KEYS[6], version, 'EX', 3600)
end
local prev = redis.call('ZSCORE', KEYS[3], ARGV[2]) or '0'
local size, out, fresh = tonumber(redis.call('GET', KEYS[5]) or '512'), {}, false
for i = 8, #KEYS do
  local n = redis.call('GET', KEYS[i])
  if not n then
    n, fresh = string.format('%.0f', redis.call('INCR', KEYS[2])), true
    local at = 2 * i - 13
    local message = ARGV[at]..',"rulesVersion":"'..version..'","number":'..n..',"previous":'..prev..'}\\n'..ARGV[at + 1]
    size = size + (#message - size) / 16
    redis.call('XADD', KEYS[4], 'MAXLEN', '~', math.max(16, math.min(${limits.replayEvents}, math.floor(${limits.logBytesPerPlace} / size))), n..'-0', 'm', message)
    redis.call('SET', KEYS[i], n, 'PX', ${markKeptMs.pending})
    redis.call('PUBLISH', KEYS[7], message)
    prev = n
  end
  out[i - 7] = n
end
if fresh then
  redis.call('ZADD', KEYS[3], prev, ARGV[2])
  redis.call('SET', KEYS[5], string.format('%.0f', size), 'PX', ${limits.sessionKeptMs})
  redis.call('PEXPIRE', KEYS[4], ${limits.sessionKeptMs})
end
return out
`;

// KEYS: mark, channel.
const broadcastLua = `
if not redis.call('SET', KEYS[1], '1', 'NX', 'PX', ${markKeptMs.acknowledged}) then return 0 end
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1
`;

// KEYS: marks. One that Redis has lost is set anew, without a number.
const settleLua = `
for i = 1, #KEYS do
  if redis.call('PEXPIRE', KEYS[i], ${markKeptMs.acknowledged}) == 0 then redis.call('SET', KEYS[i], '0', 'PX', ${markKeptMs.acknowledged}) end
end
`;

/** The key of an event's mark, which holds the number that it was appended under, or 0 when it was acknowledged and Redis has lost its entry since. */
export const markKey = (keys: Keys, place: string, eventId: string): string =>
  `${keys.partition(keys.partitionOf(place))}mark:${place}:${eventId}`;

/** How many events one call takes, and how many bytes: Redis does nothing else meanwhile. */
const callEvents = 100;
const callBytes = 256 * 1024;

/** `events` in pieces for one call each. */
function pieces(events: readonly Append[]): Append[][] {
  const out: Append[][] = [];
  let bytes = 0;
  for (const event of events) {
    const last = out.at(-1);
    bytes += event.payload.length;
    if (last && last.length < callEvents && bytes <= callBytes) last.push(event);
    else {
      out.push([event]);
      bytes = event.payload.length;
    }
  }
  return out;
}

/** By partition, the epoch in which events of before were appended that are not acknowledged yet. */
export type During = ReadonlyMap<number, number>;

/** The worker's power over the log. */
export interface Appender {
  /**
   * Appends events to a place in their order, each once however often it is called; answers what `confirm` takes. Rejects while Redis is away, and when an epoch
   * ends in between, or that of `during` has: what was appended before may be lost, and is to come before these.
   */
  readonly append: (place: string, events: readonly Append[], during?: During) => Promise<Appended[]>;
  /** Keeps the marks of acknowledged events for as long as a worker may be paused that has read the events before. Never rejects. */
  readonly settleMarks: (place: string, eventIds: readonly string[]) => Promise<void>;
  /** Publishes an event that is kept in no log to all nodes, once for each id; sessions that are not connected miss it. Rejects while Redis is away. */
  readonly broadcast: (message: Broadcast) => Promise<void>;
}

/** What is sent without a log to the sessions in these servers and of these accounts. */
export interface Broadcast {
  id: string;
  name: EventName;
  data: unknown;
  servers: readonly string[];
  accounts: readonly string[];
}

/** The channel of broadcasts. */
export const broadcastPlace = 'broadcast';

/** Binds the append script to `redis`. What is appended is counted in `events`. */
export function createAppender(redis: RedisClient, keys: Keys, epochs: Epochs, events: Metrics['events']): Appender {
  const script = bindScript<string[] | null>(redis, 'parlanceAppend', lua);
  const broadcastScript = bindScript<number>(redis, 'parlanceBroadcast', broadcastLua);
  const settleScript = bindScript<null>(redis, 'parlanceSettleMarks', settleLua);

  /** Null when the epoch is not `during`. */
  const appendPiece = async (place: string, piece: readonly Append[], during?: number): Promise<number[] | null> => {
    const k = keys.partitionOf(place);
    const at = keys.partition(k);
    const own = [
      `${at}state`,
      `${at}n`,
      `${at}active`,
      `${at}log:${place}`,
      `${at}size:${place}`,
      versionKey(keys, place.startsWith('server:') ? place.slice('server:'.length) : place),
    ];
    const args = piece.flatMap(({ payload, ...head }) => [openHead(head), payload]);
    for (let tries = 0; tries < 3; tries++) {
      if (epochs.run(k) === '') await epochs.boot(k);
      if (during !== undefined && epochs.epoch(k) !== during) return null;
      const numbers = await script(
        [...own, keys.channel(place), ...piece.map(({ id }) => markKey(keys, place, id))],
        [epochs.run(k), place, ...args],
      );
      if (numbers) return numbers.map(Number);
      await epochs.boot(k);
    }
    throw new Error('redis restarted again while an event was appended');
  };

  return {
    async append(place, list, before) {
      const partition = keys.partitionOf(place);
      const numbers: number[] = [];
      let during = before?.get(partition);
      for (const piece of pieces(list)) {
        const some = await throughFailover(redis, () => appendPiece(place, piece, during));
        if (!some) throw new Error('Redis may have lost events that come before these');
        numbers.push(...some.filter((number) => number > 0));
        during = epochs.epoch(partition);
        for (const { name } of piece) events.inc({ event: name });
      }
      return highestOfEpochs(numbers).map((number) => ({ partition, number, during: during as number }));
    },
    async settleMarks(place, eventIds) {
      if (eventIds.length > 0)
        await settleScript(
          eventIds.map((id) => markKey(keys, place, id)),
          [],
        ).catch(() => undefined);
    },
    async broadcast(message) {
      const at = [markKey(keys, broadcastPlace, message.id), keys.channel(broadcastPlace)];
      if (await broadcastScript(at, [JSON.stringify({ kind: 'broadcast', ...message })])) events.inc({ event: message.name });
    },
  };
}
