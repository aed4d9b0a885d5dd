import type { Redis } from 'ioredis';
import { type IdSource, idOf } from '../base/ids.ts';
import { versionKey } from './access-versions.ts';
import type { Keys } from './bus/keys.ts';
import { bindScript } from './redis.ts';

/** A bucket of requests: `burst` at once, refilled evenly by `perSecond`. `key` names it among all nodes. */
export interface Bucket {
  key: string;
  perSecond: number;
  burst: number;
}

/** What the limiter decided (decisions 1). Times are seconds. */
export interface Verdict {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Until the bucket is full. */
  resetAfterSecs: number;
  /** Until one request passes again; 0 when this one did. */
  retryAfterSecs: number;
}

/** What a request asks at the gate, all in one round trip. */
export interface GateAsk {
  /** null: not limited. */
  bucket: Bucket | null;
  /** Servers and accounts whose access versions it needs. */
  versionsOf: readonly string[];
  /** Whether it makes a message, whose id comes from the clock of Redis (quality 2). */
  wantId: boolean;
}

/** What the gate answers. `versions` is null while Redis is away; `id` then comes from the process' own clock. */
export interface GateReply {
  verdict: Verdict | null;
  versions: string[] | null;
  id: string | null;
}

/** Asks the gate. Never refuses because Redis is away: then an in-process limiter decides. Never rejects. */
export type Gate = (ask: GateAsk) => Promise<GateReply>;

// GCRA: the bucket is one moment, the time at which it would be full. All times in µs of Redis' clock.
const lua = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst, wantId, floor = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local allowed, remaining, reset, retry, ms, seq = 1, 0, 0, 0, 0, 0
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
  local last = redis.call('HMGET', KEYS[2], 'ms', 'seq')
  ms, seq = math.floor(now / 1000), 0
  if floor > ms then ms = floor end
  local lastMs = tonumber(last[1] or '0')
  if ms <= lastMs then
    ms, seq = lastMs, tonumber(last[2]) + 1
    if seq > 4095 then ms, seq = ms + 1, 0 end
  end
  redis.call('HSET', KEYS[2], 'ms', string.format('%.0f', ms), 'seq', seq)
end
local out = { allowed, remaining, reset, retry, string.format('%.0f', ms), seq }
for i = 3, #KEYS do out[i + 4] = redis.call('GET', KEYS[i]) or '0' end
return out
`;

const micros = 1_000_000;

/** The in-process limiter while Redis is away: the same arithmetic on this process' clock. Holds at most 10,000 buckets. */
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

/** Binds the gate to `redis`; `ids` is told of the milliseconds that Redis gives out. */
export function createGate(redis: Redis, keys: Keys, ids: IdSource, nowMs: () => number): Gate {
  const script = bindScript<[number, number, number, number, string, number, ...string[]]>(redis, 'parlanceGate', lua);
  const local = createLocalLimiter(nowMs);
  const prefix = keys.shard(0);
  return async ({ bucket, versionsOf, wantId }) => {
    if (redis.status === 'ready')
      try {
        const [allowed, remaining, reset, retry, ms, seq, ...versions] = await script(
          [`${prefix}rl:${bucket?.key ?? ''}`, `${prefix}ids`, ...versionsOf.map((id) => versionKey(keys, 0, id))],
          [bucket ? micros / bucket.perSecond : 0, bucket?.burst ?? 0, wantId ? 1 : 0, wantId ? ids.lastMs() : 0],
        );
        if (wantId && allowed) ids.note(Number(ms));
        const verdict = bucket && {
          allowed: allowed === 1,
          limit: bucket.burst,
          remaining,
          resetAfterSecs: reset / micros,
          retryAfterSecs: retry / micros,
        };
        return { verdict, versions, id: wantId && allowed ? idOf(Number(ms), 0, seq) : null };
      } catch {
        // Redis went away in between
      }
    const verdict = bucket && local(bucket);
    return { verdict, versions: null, id: wantId ? ids.next() : null };
  };
}
