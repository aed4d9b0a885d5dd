import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, asApiError } from '../api/call.ts';

/** What was read for a page, and how it stands with the reading. */
export interface Reading<T> {
  /** undefined until it was read. */
  readonly value: T | undefined;
  readonly error: ApiError | null;
  /** Reads again; what was read stays until then. */
  again: () => void;
  /** Takes in what an own write answered. */
  set: (value: T) => void;
}

/** Reads what only REST tells, on opening and whenever `what` changes; a reading that another overtook counts for nothing. */
export function useRead<T>(read: (signal: AbortSignal) => Promise<T>, what: readonly unknown[]): Reading<T> {
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal<ApiError | null>(null);
  const round = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    error.value = null;
    read(stop.signal).then(
      (found) => {
        if (!stop.signal.aborted) value.value = found;
      },
      (fault: unknown) => {
        if (!stop.signal.aborted) error.value = asApiError(fault);
      },
    );
    return () => stop.abort();
  }, [...what, round.value]);
  return {
    value: value.value,
    error: error.value,
    again: () => {
      round.value++;
    },
    set: (found) => {
      value.value = found;
    },
  };
}
