import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type ApiError, asApiError, call } from '../api/call.ts';

/** Data that was loaded for a page, and the state of the loading. */
export interface Loaded<T> {
  /** undefined until it is loaded. */
  readonly value: T | undefined;
  readonly error: ApiError | null;
  /** Loads again; the old value stays until then. */
  reload: () => void;
  /** Sets the value from the response to a write of this page. */
  set: (value: T) => void;
}

/** Runs `load` when the component is shown and whenever `deps` changes. The value of an outdated run is ignored. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal<ApiError | null>(null);
  const attempt = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    error.value = null;
    load(stop.signal).then(
      (found) => {
        if (!stop.signal.aborted) value.value = found;
      },
      (fault: unknown) => {
        if (!stop.signal.aborted) error.value = asApiError(fault);
      },
    );
    return () => stop.abort();
  }, [...deps, attempt.value]);
  return {
    value: value.value,
    error: error.value,
    reload: () => {
      attempt.value++;
    },
    set: (found) => {
      value.value = found;
    },
  };
}

/** Loads a resource of the API: when the component is shown, and whenever its path or `deps` changes. */
export const useGet = <T>(path: string, ...deps: readonly unknown[]): Loaded<T> =>
  useLoaded<T>((signal) => call('GET', path, undefined, { signal }), [path, ...deps]);
