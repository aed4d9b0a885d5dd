import type { ServerResponse } from 'node:http';
import { refuse } from '../../lib/base/errors.ts';
import { createFairSlots } from '../../lib/base/fair-slots.ts';
import { limits } from '../../lib/base/limits.ts';

/** Runs `read` for `caller` once it has a slot. The request counts until `response` is sent or broken off, and `read` has ended. */
export type RunCostlyRead = <T>(caller: string, response: ServerResponse, read: () => Promise<T>) => Promise<T>;

/**
 * Admits costly reads to one api process: 2 run at once, 1 for each caller in turn. A caller has at most 8 requests that run, wait or are being sent; all
 * together at most 512. Refuses more at once: `rate_limited` for the caller's own, else `unavailable`.
 */
export function createCostlyReads(): RunCostlyRead {
  const acquire = createFairSlots({ inAll: limits.costlyReadsAtOnce, perKey: limits.costlyReadsAtOncePerCaller });
  const openOf = new Map<string, number>();
  let open = 0;
  const close = (caller: string): void => {
    open--;
    const left = (openOf.get(caller) ?? 1) - 1;
    if (left === 0) openOf.delete(caller);
    else openOf.set(caller, left);
  };
  return async (caller, response, read) => {
    const own = openOf.get(caller) ?? 0;
    if (own >= limits.costlyReadsPerCaller) refuse('rate_limited', { seconds: 1 }, { retryAfter: 1 });
    if (open >= limits.costlyReadsInAll) refuse('unavailable', undefined, { retryAfter: 1 });
    openOf.set(caller, own + 1);
    open++;
    const release = await acquire(caller);
    try {
      return await read();
    } finally {
      release();
      if (response.closed) close(caller);
      else response.once('close', () => close(caller));
    }
  };
}
