import { useRef } from 'preact/hooks';
import { newKey } from '../api/key.ts';

/** The `Idempotency-Key` of a form that creates something. A body that is sent again has the same key, so nothing is created twice. */
export interface CreateKey {
  of(body: unknown): string;
  /** The object was created: the same body creates another one from now on. */
  done(): void;
}

/** Returns the key of one form. */
export function useCreateKey(): CreateKey {
  const last = useRef<{ body: string; key: string } | undefined>(undefined);
  return {
    of(body) {
      const text = JSON.stringify(body);
      if (last.current?.body !== text) last.current = { body: text, key: newKey() };
      return last.current.key;
    },
    done() {
      last.current = undefined;
    },
  };
}
