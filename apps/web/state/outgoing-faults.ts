import { limits } from '../../../lib/base/limits.ts';

/** What of an `ApiError` decides: plain, so that tests need no browser for it. */
interface Refusal {
  status: number;
  code: string;
  retryAfter: number | null;
}

/**
 * How a message goes on whose post was refused. `soon`: it waits so long and goes again. `live`: it stands as failed, and goes again when the connection comes
 * back, or after so long while that is there. `click`: only the person sends it again.
 */
export type Next = { again: 'soon' | 'live'; afterMs: number } | { again: 'click' };

/**
 * How long a message can be sent again automatically, in milliseconds. The API keeps an Idempotency-Key for 10 minutes from its first use
 * (docs/behavior/requests.md#idempotency); a minute of margin is subtracted.
 */
const sureMs = limits.idempotencyKeptMs - 60_000;
/** How long the first call under a key can still run before another takes it over, and the longest pauses, in milliseconds. */
const bounds = { takeoverMs: limits.idempotencyTakeoverMs + 10_000, pauseMs: 30_000, conflictMs: 4_000 };

/** Whether a message first tried `ageMs` ago may still be sent again without a click. */
export const isKeySure = (ageMs: number): boolean => ageMs < sureMs;

/** Whether nobody knows if the post was stored: no answer, or that the service cannot reach what it needs. */
const isUnsure = ({ status, code }: Refusal): boolean => code === 'unreachable' || status === 502 || status === 503 || status === 504;

/** How a post goes on after the refusal of its `tries`th try, `ageMs` after the first. */
export function nextTry(error: Refusal, ageMs: number, tries: number): Next {
  if (!isKeySure(ageMs)) return { again: 'click' };
  const askedMs = (error.retryAfter ?? 0) * 1000;
  if (error.code === 'rate_limited') return { again: 'soon', afterMs: Math.max(askedMs, 1_000) };
  if (error.code === 'idempotency_conflict')
    return ageMs < bounds.takeoverMs ? { again: 'soon', afterMs: Math.min(500 * 2 ** tries, bounds.conflictMs) } : { again: 'click' };
  if (isUnsure(error)) return { again: 'live', afterMs: Math.max(askedMs, Math.min(1_000 * 2 ** tries, bounds.pauseMs)) };
  return { again: 'click' };
}
