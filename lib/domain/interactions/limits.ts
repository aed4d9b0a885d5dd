import { limits } from '../../base/limits.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { countInBucket, type RateDecision } from '../../store/redis/preflight.ts';

/** Writes a bucket's decision to the response headers. Refuses with `rate_limited`. */
export type SetRateHeaders = (bucketName: string, decision: RateDecision) => void;

/**
 * Counts a follow-up, or a change of the original, in two buckets. The bucket of the interaction allows 5 at once and one more each second; that of the
 * application allows the rate of a caller (`RATE_LIMIT`). The first answer is not counted. Refuses with `rate_limited`. Counts nothing while RATE_LIMIT is off.
 */
export async function countFollowUp(
  { config, preflight }: ApiPlatform,
  { _id, applicationId }: Pick<InteractionDoc, '_id' | 'applicationId'>,
  setRateHeaders: SetRateHeaders,
): Promise<void> {
  const rate = config.RATE_LIMIT;
  if (rate === null) return;
  const perSecond = (limits.followups * 1000) / limits.followupRateMs;
  const perInteraction = await countInBucket(preflight, { key: `interaction:${_id}`, perSecond, burst: limits.followups });
  if (perInteraction) setRateHeaders('interaction', perInteraction);
  const perApplication = await countInBucket(preflight, { key: `application:${applicationId}`, ...rate });
  if (perApplication?.isAllowed === false) setRateHeaders('application', perApplication);
}
