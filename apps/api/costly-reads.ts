import type { ServerResponse } from 'node:http';
import { refuse } from '../../lib/base/errors.ts';
import { createFairQueue, type QueueFull } from '../../lib/base/fair-queue.ts';
import { limits } from '../../lib/base/limits.ts';

/** Runs `read` for `caller` when a slot is free. The request counts until `read` has ended and `response` is sent or closed. */
export type RunCostlyRead = <T>(caller: string, response: ServerResponse, read: () => Promise<T>) => Promise<T>;

/**
 * Limits the costly reads of one API process. 2 run at once, and waiting callers are served round robin. At most 8 requests of one caller, and 512 of all
 * callers together, may run, wait or be in the middle of sending. Refuses further ones without waiting: `rate_limited` for the caller's limit, `unavailable`
 * for the other.
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
