import { useRef } from 'preact/hooks';
import { call } from '../api/call.ts';
import { newKey } from '../api/key.ts';

/** Creates an object by a POST of `body` to `path`. Throws `ApiError`. */
export type Create = <T>(path: string, body: unknown) => Promise<T>;

/**
 * Returns a function that creates objects for one form. A body that is sent again after an error has the same `Idempotency-Key`, so nothing is created twice.
 */
export function useCreate(): Create {
  const last = useRef<{ text: string; key: string } | undefined>(undefined);
  return async <T>(path: string, body: unknown): Promise<T> => {
    const text = JSON.stringify(body);
    if (last.current?.text !== text) last.current = { text, key: newKey() };
    const created = await call<T>('POST', path, body, { key: last.current.key });
    last.current = undefined;
    return created;
  };
}
