import { limits } from '../../base/limits.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { type CountedRate, countInBucket } from '../../store/redis/preflight.ts';

/**
 * Counts a follow-up, or a change of the original, in two buckets. The bucket of the interaction allows 5 at once and one more each second; that of the
 * application allows the rate of a caller (`RATE_LIMIT`). The first answer is not counted. Returns the bucket of the interaction and, if it refuses, that of the
 * application. Counts nothing while RATE_LIMIT is off.
 */
export async function countFollowUp(
  { config, preflight }: ApiPlatform,
  { _id, applicationId }: Pick<InteractionDoc, '_id' | 'applicationId'>,
): Promise<CountedRate[]> {
  const rate = config.RATE_LIMIT;
  if (rate === null) return [];
  const perSecond = (limits.followups * 1000) / limits.followupRateMs;
  const perInteraction = await countInBucket(preflight, { key: `interaction:${_id}`, perSecond, burst: limits.followups });
  const rates = perInteraction ? [{ bucketName: 'interaction', decision: perInteraction }] : [];
  if (perInteraction?.isAllowed === false) return rates;
  const perApplication = await countInBucket(preflight, { key: `application:${applicationId}`, ...rate });
  return perApplication?.isAllowed === false ? [...rates, { bucketName: 'application', decision: perApplication }] : rates;
}
