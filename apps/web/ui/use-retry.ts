import { useEffect, useRef } from 'preact/hooks';
import type { ApiError } from '../api/call.ts';

/** The first pause before another try and the longest, in milliseconds; after `forget` without a failure the first one counts again. */
const pausesMs = { first: 1_000, most: 30_000, forget: 90_000 };

// One backoff for the whole page: what fails for one part of it mostly fails for all.
let pauseMs = pausesMs.first;
let failedAt = 0;

/** The pause before the next try, in milliseconds: twice the one before, with some chance in it. */
function nextPauseMs(): number {
  if (Date.now() - failedAt > pausesMs.forget) pauseMs = pausesMs.first;
  failedAt = Date.now();
  const thisMs = pauseMs * (0.5 + Math.random());
  pauseMs = Math.min(pauseMs * 2, pausesMs.most);
  return thisMs;
}

/** Whether a failure passes by itself: no connection, too many requests, or a service that is away. */
export const isPassing = ({ status, code }: ApiError): boolean => code === 'unreachable' || status === 429 || status >= 500;

/** Calls `again` while `error` is one that passes: after pauses that grow with each failure, and at once when the browser is online again. */
export function useRetry(error: ApiError | null | undefined, again: (() => void) | undefined): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (!error || !latest.current || !isPassing(error)) return undefined;
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
