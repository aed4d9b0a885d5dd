import type { Context } from 'koa';
import { refuse } from '../../../lib/base/errors.ts';
import type { RateDecision } from '../../../lib/store/redis/preflight.ts';
import type { State } from '../state.ts';

/** Sets the rate limit headers of a bucket's decision. Refuses `rate_limited` if the decision does not allow the request. */
export function setRateHeaders(ctx: Context, bucketName: string, decision: RateDecision): void {
  (ctx.state as State).rate = { bucketName, decision };
  ctx.set('X-RateLimit-Limit', String(decision.limit));
  ctx.set('X-RateLimit-Remaining', String(decision.remaining));
  ctx.set('X-RateLimit-Reset-After', decision.resetAfterSecs.toFixed(3));
  ctx.set('X-RateLimit-Bucket', bucketName);
  if (!decision.isAllowed) {
    const retryAfter = Math.ceil(decision.retryAfterSecs * 1000) / 1000;
    refuse('rate_limited', { seconds: retryAfter }, { retryAfter });
  }
}
