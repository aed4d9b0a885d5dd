import { useRef } from 'preact/hooks';
import { newKey } from '../api/key.ts';

/** The `Idempotency-Key` of a form that makes something: a body that is sent again has its key again, so nothing is made twice. */
export interface CreateKey {
  of(body: unknown): string;
  /** It was made: the same body makes another from here on. */
  done(): void;
}

/** The key of one form. */
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
