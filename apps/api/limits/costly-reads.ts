import type { ServerResponse } from 'node:http';
import { refuse } from '../../../lib/base/errors.ts';
import { createFairQueue, type QueueFull } from '../../../lib/base/fair-queue.ts';
import { limits } from '../../../lib/base/limits.ts';

/** Runs `read` for `caller` when a slot is free. The request counts until `read` has ended and `response` is sent or closed. */
export type RunCostlyRead = <T>(caller: string, response: ServerResponse, read: () => Promise<T>) => Promise<T>;

/**
 * Limits the costly reads of one API process. 2 run at once, and waiting callers are served round robin. At most 8 requests of one caller, and 512 of all
 * callers together, may run, wait or be in the middle of sending. Refuses further ones without waiting: `rate_limited` for the caller's limit, `unavailable`
 * for the other.
 */
export function createCostlyReads(): RunCostlyRead {
  const refuseFull = (fullLimit: QueueFull): never =>
    fullLimit === 'key' ? refuse('rate_limited', { seconds: 1 }, { retryAfter: 1 }) : refuse('unavailable');
  const queue = createFairQueue(
    { maxRunning: limits.costlyReadsAtOnce, maxWaitingPerKey: limits.costlyReadsPerCaller, maxWaiting: limits.costlyReadsTotal },
    refuseFull,
  );
  const openByCaller = new Map<string, number>();
  let openCount = 0;
  const endRequest = (caller: string): void => {
    openCount--;
    const remaining = (openByCaller.get(caller) ?? 1) - 1;
    if (remaining === 0) openByCaller.delete(caller);
    else openByCaller.set(caller, remaining);
  };
  return async (caller, response, read) => {
    const ownCount = openByCaller.get(caller) ?? 0;
    if (ownCount >= limits.costlyReadsPerCaller) refuseFull('key');
    if (openCount >= limits.costlyReadsTotal) refuseFull('all');
    openByCaller.set(caller, ownCount + 1);
    openCount++;
    try {
      return await queue(caller, read);
    } finally {
      if (response.closed) endRequest(caller);
      else response.once('close', () => endRequest(caller));
    }
  };
}
