import { type IdSource, idOf } from '../base/ids.ts';
import { type Keys, versionKey } from './log/keys.ts';
import { type Horizon, idClockKey, idOfEntry, inFlightKey, oldestInFlightLua, takeIdLua } from './message-order.ts';
import { bindScript, type RedisClient } from './redis.ts';

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
  /** Whether it takes an id from the clock that message ids come from. */
  wantId: boolean;
  /** The channel whose messages it reads, for the horizon. */
  readsChannel?: string | undefined;
}

/** What the gate answers. `versions` is null while Redis is away; `id` then comes from the process' own clock. */
export interface GateReply {
  verdict: Verdict | null;
  versions: string[] | null;
  id: string | null;
  /** Of the channel that is read; null without one, and while Redis is away. */
  horizon: Horizon | null;
}

/** Asks the gate. Never refuses because Redis is away: then an in-process limiter decides. Never rejects. */
export type Gate = (ask: GateAsk) => Promise<GateReply>;

// GCRA: the bucket is one moment, the time at which it would be full. All times in µs of Redis' clock.
const lua = `${takeIdLua}${oldestInFlightLua}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst, wantId, floor = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
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
  ms, seq = takeId(KEYS[2], math.floor(now / 1000), floor)
  oldest = oldestInFlight(KEYS[3], math.floor(now / 1000))
end
local out = { allowed, remaining, reset, retry, string.format('%.0f', ms), seq, oldest }
for i = 4, #KEYS do out[i + 4] = redis.call('GET', KEYS[i]) or '0' end
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
export function createGate(redis: RedisClient, keys: Keys, ids: IdSource, nowMs: () => number): Gate {
  const script = bindScript<[number, number, number, number, string, number, string, ...string[]]>(redis, 'parlanceGate', lua);
  const local = createLocalLimiter(nowMs);
  const prefix = keys.partition(0);
  return async ({ bucket, versionsOf, wantId: forItself, readsChannel }) => {
    const wantId = forItself || readsChannel !== undefined;
    if (redis.status === 'ready')
      try {
        const [allowed, remaining, reset, retry, ms, seq, oldest, ...versions] = await script(
          [
            `${prefix}rl:${bucket?.key ?? ''}`,
            idClockKey(keys),
            inFlightKey(keys, readsChannel ?? ''),
            ...versionsOf.map((id) => versionKey(keys, id)),
          ],
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
        const id = wantId && allowed ? idOf(Number(ms), 0, seq) : null;
        const horizon = id !== null && readsChannel !== undefined ? { below: id, oldest: idOfEntry(oldest) } : null;
        return { verdict, versions, id, horizon };
      } catch {
        // Redis went away in between
      }
    const verdict = bucket && local(bucket);
    return { verdict, versions: null, id: forItself ? ids.next() : null, horizon: null };
  };
}
