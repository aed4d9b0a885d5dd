import { waitFor } from './wait.ts';

/** Runs works of the same key one after another, in the order in which they came. */
export class Sequences {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` when those of `key` before it have ended. Rejects with the reason of `signal` if that is aborted before. */
  run<T>(key: string, work: () => Promise<T>, ...signals: readonly AbortSignal[]): Promise<T> {
    const before = this.#last.get(key);
    const start = async (): Promise<T> => {
      if (before) await waitFor(before, Number.POSITIVE_INFINITY, ...signals);
      return work();
    };
    const result = start();
    // Aborted or not, what comes later also waits for what came before.
    const end = Promise.allSettled([before, result]).then(() => {
      if (this.#last.get(key) === end) this.#last.delete(key);
    });
    this.#last.set(key, end);
    return result;
  }
}
