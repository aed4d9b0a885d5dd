import { useEffect, useRef } from 'preact/hooks';
import type { ApiError } from '../api/call.ts';

/** The first and the longest pause before a retry, in milliseconds. After `resetAfter` without a failure the pause starts at the first one again. */
const pausesMs = { first: 1_000, max: 30_000, resetAfter: 90_000 };

// The whole page shares one backoff, because a failure of one part usually affects all.
let pauseMs = pausesMs.first;
let failedAt = Number.NEGATIVE_INFINITY;

/** Returns the pause before the next try, in milliseconds: twice the previous one, with jitter. */
function nextPauseMs(): number {
  if (performance.now() - failedAt > pausesMs.resetAfter) pauseMs = pausesMs.first;
  failedAt = performance.now();
  const jitteredMs = pauseMs * (0.5 + Math.random());
  pauseMs = Math.min(pauseMs * 2, pausesMs.max);
  return jitteredMs;
}

/** Whether an error is temporary: no connection, too many requests, or an unavailable service. */
export const isTemporary = ({ status, code }: ApiError): boolean => code === 'unreachable' || status === 429 || status >= 500;

/** Calls `retry` while `error` is temporary: after pauses that grow with each failure, and at once when the browser is online again. */
export function useRetry(error: ApiError | null | undefined, retry: (() => void) | undefined): void {
  const latest = useRef(retry);
  latest.current = retry;
  useEffect(() => {
    if (!error || !latest.current || !isTemporary(error)) return undefined;
    const timer = setTimeout(() => latest.current?.(), Math.max(nextPauseMs(), (error.retryAfter ?? 0) * 1000));
    const onOnline = (): void => {
      clearTimeout(timer);
      pauseMs = pausesMs.first;
      latest.current?.();
    };
    addEventListener('online', onOnline);
    return () => {
      clearTimeout(timer);
      removeEventListener('online', onOnline);
    };
  }, [error]);
}
