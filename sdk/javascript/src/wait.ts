/** Resolves after `ms` milliseconds; rejects with the reason of `signal` when that is aborted. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
    return undefined;
  });
}

/** A random delay in milliseconds between 0 and `firstMs · 2^failures`, which is at most `mostMs`. */
export const backoffMs = (failures: number, firstMs: number, mostMs: number): number =>
  Math.random() * Math.min(mostMs, firstMs * 2 ** Math.min(failures, 30));
