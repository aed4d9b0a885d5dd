import { composeId, type IdSource } from '../../base/ids.ts';
import { type Horizon, idClockKey, oldestInFlightLua, parseEntryId, takeIdLua } from './horizon.ts';
import { type Keys, versionKey } from './log/keys.ts';
import { bindScript, type RedisClient } from './redis.ts';

/** A token bucket: it holds `burst` requests and is refilled evenly with `perSecond`. All processes share the bucket with the same `key`. */
export interface Bucket {
  key: string;
  perSecond: number;
  burst: number;
  /** How many requests this one counts as; at most `burst` count. Default: 1. */
  cost?: number;
  /** Charges the request also if the bucket does not hold as much. Later requests wait until it is made up for. */
  isForced?: boolean;
}

/** The decision of the rate limiter (docs/behavior/requests.md#rate-limits). */
export interface RateDecision {
  isAllowed: boolean;
  limit: number;
  remaining: number;
  /** Seconds until the bucket is full. */
  resetAfterSecs: number;
  /** Seconds until the next request is allowed; 0 when this one was. */
  retryAfterSecs: number;
}

/** A bucket that a request was counted in, by the name that answers show (`X-RateLimit-Bucket`), and the decision. */
export interface CountedRate {
  bucketName: string;
  decision: RateDecision;
}

/**
 * What a request needs from Redis before it is handled: the preflight. It takes one round trip: a script call for each partition that is involved. With one
 * partition that is a single call.
 */
export interface PreflightRequest {
  /** The rate limit; null for none. */
  bucket: Bucket | null;
  /** The servers and accounts whose access versions the request needs. */
  versionsOf: readonly string[];
  /** Whether the request needs an id from the clock of message ids. */
  needsId: boolean;
  /** The channel whose messages the request reads; its horizon is returned. */
  readsChannel?: string | undefined;
}

/** The result of the preflight. While Redis is unavailable, `versions` is null and `id` comes from the process' own clock. */
export interface PreflightResult {
  decision: RateDecision | null;
  versions: string[] | null;
  id: string | null;
  /** The horizon of `readsChannel`; null without one, and while Redis is unavailable. */
  horizon: Horizon | null;
}

/** Runs the preflight. While Redis is unavailable, an in-process rate limiter decides instead. Never rejects. */
export type Preflight = (request: PreflightRequest) => Promise<PreflightResult>;

const toCost = ({ cost = 1, burst }: Bucket): number => Math.max(1, Math.min(cost, Math.floor(burst)));

// GCRA: a bucket is stored as a single time, at which it would be full. All times are in µs of Redis' clock. A time further ahead than two buckets need to fill
// comes from before the clock was set back.
const lua = `${takeIdLua}${oldestInFlightLua}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst, wantId, floor = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local partition, partitions, floorSeq = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local cost, isForced = tonumber(ARGV[8]), ARGV[9] == '1'
local allowed, remaining, reset, retry, ms, seq, oldest = 1, 0, 0, 0, 0, 0, ''
if interval > 0 then
  local full = tonumber(redis.call('GET', KEYS[1]) or '0')
  local most = now + interval * burst
  full = math.max(now, math.min(full, 2 * most - now))
  local after = full + interval * cost
  if after > most then allowed, retry = 0, after - most end
  if allowed == 1 or isForced then
    full = after
    redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
  end
  remaining, reset = math.max(0, math.floor((most - full) / interval)), full - now
end
if allowed == 1 and wantId == '1' then
  ms, seq = takeId(KEYS[2], math.floor(now / 1000), floor, floorSeq, partition, partitions)
  oldest = oldestInFlight(KEYS[3], math.floor(now / 1000))
end
local out = { allowed, remaining, reset, retry, string.format('%.0f', ms), seq, oldest }
for i = 4, #KEYS do out[i + 4] = redis.call('GET', KEYS[i]) or '0' end
return out
`;

/** Counts a request in a bucket, without anything else of a preflight. */
export const countInBucket = async (preflight: Preflight, bucket: Bucket): Promise<RateDecision | null> =>
  (await preflight({ bucket, versionsOf: [], needsId: false })).decision;

const microsPerSec = 1_000_000;

/** A limiter in this process, for use while Redis is unavailable, and by a gateway node. It computes the same with `nowMs`, and holds at most 10,000 buckets. */
export function createLocalLimiter(nowMs: () => number): (bucket: Bucket) => RateDecision {
  const fullMicrosByKey = new Map<string, number>();
  return (bucket) => {
    const { key, perSecond, burst, isForced = false } = bucket;
    const nowMicros = nowMs() * 1000;
    const intervalMicros = microsPerSec / perSecond;
    const maxMicros = nowMicros + intervalMicros * burst;
    let fullMicros = Math.max(nowMicros, Math.min(fullMicrosByKey.get(key) ?? 0, 2 * maxMicros - nowMicros));
    const afterMicros = fullMicros + intervalMicros * toCost(bucket);
    const isAllowed = afterMicros <= maxMicros;
    if (isAllowed || isForced) fullMicros = afterMicros;
    fullMicrosByKey.delete(key);
    if (fullMicrosByKey.size >= 10_000) fullMicrosByKey.delete(fullMicrosByKey.keys().next().value as string);
    fullMicrosByKey.set(key, fullMicros);
    return {
      isAllowed,
      limit: burst,
      remaining: Math.max(0, Math.floor((maxMicros - fullMicros) / intervalMicros)),
      resetAfterSecs: (fullMicros - nowMicros) / microsPerSec,
      retryAfterSecs: isAllowed ? 0 : (afterMicros - maxMicros) / microsPerSec,
    };
  };
}

/** The reply of one script call: whether the request is allowed, its bucket, an id as milliseconds and sequence, the oldest entry in flight, the versions. */
type Reply = [allowed: number, remaining: number, reset: number, retry: number, ms: string, seq: number, oldest: string, ...string[]];

/** Binds the preflight to `redis`. Ids that Redis gives are passed to `ids`, so that the process' own ids stay above them. */
export function createPreflight(redis: RedisClient, keys: Keys, ids: IdSource, nowMs: () => number): Preflight {
  const script = bindScript<Reply>(redis, 'parlancePreflight', lua);
  const decideLocally = createLocalLimiter(nowMs);

  const callRedis = async ({ bucket, versionsOf, needsId, readsChannel = '' }: PreflightRequest): Promise<PreflightResult> => {
    const limiterPartition = bucket && keys.partitionOf(bucket.key);
    const idPartition = needsId || readsChannel ? keys.partitionOf(readsChannel) : null;
    const versionPartitions = versionsOf.map((id) => keys.partitionOf(id));
    const partitions = [...new Set([limiterPartition, idPartition, ...versionPartitions])].filter((partition) => partition !== null);
    const replies = await Promise.all(
      partitions.map(async (partition) => {
        const ownBucket = partition === limiterPartition ? bucket : null;
        const versions = versionsOf.filter((_, index) => versionPartitions[index] === partition).map((id) => versionKey(keys, id));
        const channelId = partition === idPartition ? readsChannel : '';
        const reply = await script(
          [
            `${keys.partitionPrefix(partition)}rl:${ownBucket?.key ?? ''}`,
            idClockKey(keys, partition),
            `${keys.partitionPrefix(partition)}flight:${channelId}`,
            ...versions,
          ],
          [
            ownBucket ? microsPerSec / ownBucket.perSecond : 0,
            ownBucket?.burst ?? 0,
            partition === idPartition ? 1 : 0,
            ids.lastMs(),
            partition,
            keys.partitions,
            ids.lastSequence(),
            ownBucket ? toCost(ownBucket) : 1,
            ownBucket?.isForced ? 1 : 0,
          ],
        );
        return [partition, reply] as const;
      }),
    );
    const byPartition = new Map(replies);
    const limiterReply = limiterPartition === null ? null : (byPartition.get(limiterPartition) as Reply);
    const decision = bucket &&
      limiterReply && {
        isAllowed: limiterReply[0] === 1,
        limit: bucket.burst,
        remaining: limiterReply[1],
        resetAfterSecs: limiterReply[2] / microsPerSec,
        retryAfterSecs: limiterReply[3] / microsPerSec,
      };
    const nextIndexes = new Map(partitions.map((partition) => [partition, 7]));
    const versions = versionPartitions.map((partition) => {
      const index = nextIndexes.get(partition) as number;
      nextIndexes.set(partition, index + 1);
      return byPartition.get(partition)?.[index] as string;
    });
    const idReply = idPartition === null || decision?.isAllowed === false ? null : (byPartition.get(idPartition) as Reply);
    if (!idReply) return { decision, versions, id: null, horizon: null };
    const [, , , , ms, seq, oldest] = idReply;
    ids.markUsed(Number(ms), seq);
    const id = composeId(Number(ms), 0, seq);
    return { decision, versions, id, horizon: readsChannel ? { below: id, oldest: parseEntryId(oldest) } : null };
  };

  return async (request) => {
    if (redis.status === 'ready')
      try {
        return await callRedis(request);
      } catch {
        // the connection was lost in between
      }
    return {
      decision: request.bucket && decideLocally(request.bucket),
      versions: null,
      id: request.needsId ? ids.next() : null,
      horizon: null,
    };
  };
}
