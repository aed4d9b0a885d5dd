import type { Context } from 'koa';
import { refuse } from '../../../lib/base/errors.ts';
import type { Verdict } from '../../../lib/store/redis/throttle.ts';

/** Sets the rate limit headers of a bucket's decision. Refuses `rate_limited` if the decision does not allow the request. */
export function applyVerdict(ctx: Context, bucketName: string, verdict: Verdict): void {
  ctx.set('X-RateLimit-Limit', String(verdict.limit));
  ctx.set('X-RateLimit-Remaining', String(verdict.remaining));
  ctx.set('X-RateLimit-Reset-After', verdict.resetAfterSecs.toFixed(3));
  ctx.set('X-RateLimit-Bucket', bucketName);
  if (!verdict.allowed) {
    const retryAfter = Math.ceil(verdict.retryAfterSecs * 1000) / 1000;
    refuse('rate_limited', { seconds: retryAfter }, { retryAfter });
  }
}
