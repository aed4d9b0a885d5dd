import { limits } from '../../../lib/base/limits.ts';

/** The fields of an `ApiError` that decide about a retry. A plain type, so that tests do not need a browser. */
interface ErrorFields {
  status: number;
  code: string;
  retryAfter: number | null;
}

/**
 * What happens to a message after a failed request. `soon`: it is sent again after `afterMs`. `live`: it is shown as failed and is sent again when the
 * connection returns, or after `afterMs` while the connection is live. `click`: it is sent again only when the user asks for it.
 */
export type Next = { again: 'soon' | 'live'; afterMs: number } | { again: 'click' };

/**
 * How long a message can be sent again automatically, in milliseconds. The API keeps an Idempotency-Key for 10 minutes from its first use
 * (docs/behavior/requests.md#idempotency); a minute of margin is subtracted.
 */
const keyValidMs = limits.idempotencyRetentionMs - 60_000;
/** How long the first request with a key can run before another request takes the key over, and the longest pauses between tries, in milliseconds. */
const bounds = { takeoverMs: limits.idempotencyTakeoverMs + 10_000, pauseMs: 30_000, conflictMs: 4_000 };

/** Whether a message that was first tried `ageMs` ago may still be sent again without a click. */
export const isKeyValid = (ageMs: number): boolean => ageMs < keyValidMs;

/** Whether it is unknown if the message was stored: there was no response, or the service was not available. */
const isOutcomeUnknown = ({ status, code }: ErrorFields): boolean =>
  code === 'unreachable' || status === 502 || status === 503 || status === 504;

/** Decides what happens to a message after its try number `tries` failed, `ageMs` after the first try. */
export function nextTry(error: ErrorFields, ageMs: number, tries: number): Next {
  if (!isKeyValid(ageMs)) return { again: 'click' };
  const retryAfterMs = (error.retryAfter ?? 0) * 1000;
  if (error.code === 'rate_limited') return { again: 'soon', afterMs: Math.max(retryAfterMs, 1_000) };
  if (error.code === 'idempotency_conflict')
    return ageMs < bounds.takeoverMs ? { again: 'soon', afterMs: Math.min(500 * 2 ** tries, bounds.conflictMs) } : { again: 'click' };
  if (isOutcomeUnknown(error)) return { again: 'live', afterMs: Math.max(retryAfterMs, Math.min(1_000 * 2 ** tries, bounds.pauseMs)) };
  return { again: 'click' };
}
