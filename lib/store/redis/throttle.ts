import { type IdSource, idOf } from '../../base/ids.ts';
import { type Horizon, idClockKey, idOfEntry, oldestInFlightLua, takeIdLua } from './horizon.ts';
import { type Keys, versionKey } from './log/keys.ts';
import { bindScript, type RedisClient } from './redis.ts';

/** A token bucket: it holds `burst` requests and is refilled evenly with `perSecond`. All processes share the bucket with the same `key`. */
export interface Bucket {
  key: string;
  perSecond: number;
  burst: number;
}

/** The decision of the rate limiter (docs/behavior/requests.md#rate-limits). */
export interface Verdict {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Seconds until the bucket is full. */
  resetAfterSecs: number;
  /** Seconds until the next request is allowed; 0 when this one was. */
  retryAfterSecs: number;
}

/**
 * What a request needs from Redis before it is handled: the preflight. It takes one round trip: a script call for each partition that is involved. With one
 * partition that is a single call.
 */
export interface GateAsk {
  /** The rate limit; null for none. */
  bucket: Bucket | null;
  /** The servers and accounts whose access versions the request needs. */
  versionsOf: readonly string[];
  /** Whether the request needs an id from the clock of message ids. */
  wantId: boolean;
  /** The channel whose messages the request reads; its horizon is returned. */
  readsChannel?: string | undefined;
}

/** The result of the preflight. While Redis is away, `versions` is null and `id` comes from the process' own clock. */
export interface GateReply {
  verdict: Verdict | null;
  versions: string[] | null;
  id: string | null;
  /** The horizon of `readsChannel`; null without one, and while Redis is away. */
  horizon: Horizon | null;
}

/** Runs the preflight. While Redis is away, an in-process rate limiter decides instead. Never rejects. */
export type Gate = (ask: GateAsk) => Promise<GateReply>;

// GCRA: a bucket is stored as a single time, at which it would be full. All times are in µs of Redis' clock.
const lua = `${takeIdLua}${oldestInFlightLua}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst, wantId, floor = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local partition, partitions, floorSeq = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local allowed, remaining, reset, retry, ms, seq, oldest = 1, 0, 0, 0, 0, 0, ''
if interval > 0 then
  local full = tonumber(redis.call('GET', KEYS[1]) or '0')
  if full < now then full = now end
  local after = full + interval
  local most = now + interval * burst
  if after > most then
    allowed, retry = 0, after - most
  else
    full = after
    redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
  end
  remaining, reset = math.floor((most - full) / interval), full - now
end
if allowed == 1 and wantId == '1' then
  ms, seq = takeId(KEYS[2], math.floor(now / 1000), floor, floorSeq, partition, partitions)
  oldest = oldestInFlight(KEYS[3], math.floor(now / 1000))
end
local out = { allowed, remaining, reset, retry, string.format('%.0f', ms), seq, oldest }
for i = 4, #KEYS do out[i + 4] = redis.call('GET', KEYS[i]) or '0' end
return out
`;

const micros = 1_000_000;

/** The in-process limiter, for use while Redis is away. It computes the same with this process' clock, and holds at most 10,000 buckets. */
function createLocalLimiter(nowMs: () => number): (bucket: Bucket) => Verdict {
  const fullAt = new Map<string, number>();
  return ({ key, perSecond, burst }) => {
    const now = nowMs() * 1000;
    const interval = micros / perSecond;
    let full = Math.max(fullAt.get(key) ?? 0, now);
    const most = now + interval * burst;
    const allowed = full + interval <= most;
    if (allowed) full += interval;
    fullAt.delete(key);
    if (fullAt.size >= 10_000) fullAt.delete(fullAt.keys().next().value as string);
    fullAt.set(key, full);
    return {
      allowed,
      limit: burst,
      remaining: Math.floor((most - full) / interval),
      resetAfterSecs: (full - now) / micros,
      retryAfterSecs: allowed ? 0 : (full + interval - most) / micros,
    };
  };
}

/** The reply of one script call: whether the request is allowed, its bucket, an id as milliseconds and sequence, the oldest entry in flight, the versions. */
type Reply = [allowed: number, remaining: number, reset: number, retry: number, ms: string, seq: number, oldest: string, ...string[]];

/** Binds the preflight to `redis`. Ids that Redis gives are passed to `ids`, so that the process' own ids stay above them. */
export function createGate(redis: RedisClient, keys: Keys, ids: IdSource, nowMs: () => number): Gate {
  const script = bindScript<Reply>(redis, 'parlanceGate', lua);
  const local = createLocalLimiter(nowMs);

  const askRedis = async ({ bucket, versionsOf, wantId, readsChannel = '' }: GateAsk): Promise<GateReply> => {
    const limiterAt = bucket && keys.partitionOf(bucket.key);
    const idAt = wantId || readsChannel ? keys.partitionOf(readsChannel) : null;
    const versionsAt = versionsOf.map((id) => keys.partitionOf(id));
    const partitions = [...new Set([limiterAt, idAt, ...versionsAt])].filter((k) => k !== null);
    const replies = await Promise.all(
      partitions.map(async (k) => {
        const own = k === limiterAt ? bucket : null;
        const versions = versionsOf.filter((_, at) => versionsAt[at] === k).map((id) => versionKey(keys, id));
        const channelId = k === idAt ? readsChannel : '';
        const reply = await script(
          [`${keys.partition(k)}rl:${own?.key ?? ''}`, idClockKey(keys, k), `${keys.partition(k)}flight:${channelId}`, ...versions],
          [own ? micros / own.perSecond : 0, own?.burst ?? 0, k === idAt ? 1 : 0, ids.lastMs(), k, keys.partitions, ids.lastSequence()],
        );
        return [k, reply] as const;
      }),
    );
    const byPartition = new Map(replies);
    const limited = limiterAt === null ? null : (byPartition.get(limiterAt) as Reply);
    const verdict = bucket &&
      limited && {
        allowed: limited[0] === 1,
        limit: bucket.burst,
        remaining: limited[1],
        resetAfterSecs: limited[2] / micros,
        retryAfterSecs: limited[3] / micros,
      };
    const seen = new Map(partitions.map((k) => [k, 7]));
    const versions = versionsAt.map((k) => {
      const at = seen.get(k) as number;
      seen.set(k, at + 1);
      return byPartition.get(k)?.[at] as string;
    });
    const clock = idAt === null || verdict?.allowed === false ? null : (byPartition.get(idAt) as Reply);
    if (!clock) return { verdict, versions, id: null, horizon: null };
    const [, , , , ms, seq, oldest] = clock;
    ids.note(Number(ms), seq);
    const id = idOf(Number(ms), 0, seq);
    return { verdict, versions, id, horizon: readsChannel ? { below: id, oldest: idOfEntry(oldest) } : null };
  };

  return async (ask) => {
    if (redis.status === 'ready')
      try {
        return await askRedis(ask);
      } catch {
        // the connection was lost in between
      }
    return { verdict: ask.bucket && local(ask.bucket), versions: null, id: ask.wantId ? ids.next() : null, horizon: null };
  };
}
