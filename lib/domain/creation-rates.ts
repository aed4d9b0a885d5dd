import { refuse } from '../base/errors.ts';
import type { ApiPlatform } from '../store/platform.ts';
import { type Bucket, countInBucket } from '../store/redis/preflight.ts';

const minuteSecs = 60;
const hourSecs = 3600;

/** A bucket that holds `perMinute` creations and is refilled with as many a minute. */
export const perMinute = (key: string, count: number): Bucket => ({ key, perSecond: count / minuteSecs, burst: count });

/** A bucket that holds `burst` creations and is refilled with `perHour` an hour. */
export const perHour = (key: string, { burst, count }: { burst: number; count: number }): Bucket => ({
  key,
  perSecond: count / hourSecs,
  burst,
});

/**
 * Counts a creation in these buckets. Refuses `rate_limited` when one of them is empty. Counts nothing while RATE_LIMIT is off
 * (docs/behavior/requests.md#creation-limits).
 */
export async function countCreation(platform: ApiPlatform, buckets: readonly Bucket[]): Promise<void> {
  if (platform.config.RATE_LIMIT === null) return;
  for (const bucket of buckets) {
    const decision = await countInBucket(platform.preflight, bucket);
    if (decision?.isAllowed === false)
      refuse('rate_limited', { seconds: Math.ceil(decision.retryAfterSecs) }, { retryAfter: decision.retryAfterSecs });
  }
}
