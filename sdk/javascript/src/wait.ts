/** Resolves when `work` does or after `ms` milliseconds; rejects with the reason of the first of `signals` that is aborted. */
export function waitFor(work: Promise<void> | undefined, ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = signals.find((signal) => signal.aborted);
    if (aborted) return reject(aborted.reason as Error);
    const onAbort = ({ target }: { target: unknown }): void => {
      release();
      reject((target as AbortSignal).reason as Error);
    };
    const onDone = (): void => {
      release();
      resolve();
    };
    const timer = Number.isFinite(ms) ? setTimeout(onDone, ms) : undefined;
    const release = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
    };
    for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });
    work?.then(onDone, onDone);
    return undefined;
  });
}

/** Resolves after `ms` milliseconds; rejects with the reason of the first of `signals` that is aborted. */
export const wait = (ms: number, ...signals: readonly AbortSignal[]): Promise<void> => waitFor(undefined, ms, ...signals);

/** A random delay in milliseconds between 0 and `firstMs · 2^failures`, which is at most `mostMs`. */
export const backoffMs = (failures: number, firstMs: number, mostMs: number): number =>
  Math.random() * Math.min(mostMs, firstMs * 2 ** Math.min(failures, 30));
