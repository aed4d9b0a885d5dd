import type { ServerResponse } from 'node:http';
import { refuse } from '../../lib/base/errors.ts';
import { createFairQueue, type QueueFull } from '../../lib/base/fair-queue.ts';
import { limits } from '../../lib/base/limits.ts';

/** Runs `read` for `caller` once it has a slot. The request counts until `response` is sent or broken off, and `read` has ended. */
export type RunCostlyRead = <T>(caller: string, response: ServerResponse, read: () => Promise<T>) => Promise<T>;

/**
 * Admits costly reads to one api process: 2 run at once, for the callers in turn. A caller has at most 8 requests that run, wait or are being sent; all
 * together at most 512. Refuses more at once: `rate_limited` for the caller's own, else `unavailable`.
 */
export function createCostlyReads(): RunCostlyRead {
  const refuseMore = (why: QueueFull): never =>
    why === 'key' ? refuse('rate_limited', { seconds: 1 }, { retryAfter: 1 }) : refuse('unavailable', undefined, { retryAfter: 1 });
  const queue = createFairQueue(
    { atOnce: limits.costlyReadsAtOnce, waitingPerKey: limits.costlyReadsPerCaller, waitingInAll: limits.costlyReadsInAll },
    refuseMore,
  );
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
    if (own >= limits.costlyReadsPerCaller) refuseMore('key');
    if (open >= limits.costlyReadsInAll) refuseMore('all');
    openOf.set(caller, own + 1);
    open++;
    try {
      return await queue(caller, read);
    } finally {
      if (response.closed) close(caller);
      else response.once('close', () => close(caller));
    }
  };
}
