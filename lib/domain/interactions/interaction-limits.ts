import { limits } from '../../base/limits.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import type { Bucket, Verdict } from '../../store/redis/throttle.ts';

/** Writes a bucket's decision to the response headers. Refuses with `rate_limited`. */
export type TellRate = (bucketName: string, verdict: Verdict) => void;

/**
 * Counts a follow-up, or a change of the original, in two buckets. The bucket of the interaction allows 5 at once and one more each second; that of the
 * application allows the rate of a caller (`RATE_LIMIT`). The first answer is not counted. Refuses with `rate_limited`. Counts nothing while RATE_LIMIT is off.
 */
export async function countFollowUp(
  { config, gate }: ApiPlatform,
  { _id, applicationId }: Pick<InteractionDoc, '_id' | 'applicationId'>,
  tellRate: TellRate,
): Promise<void> {
  const rate = config.RATE_LIMIT;
  if (rate === null) return;
  const ask = async (bucket: Bucket): Promise<Verdict | null> => (await gate({ bucket, versionsOf: [], wantId: false })).verdict;
  const perSecond = (limits.followups * 1000) / limits.followupRateMs;
  const own = await ask({ key: `interaction:${_id}`, perSecond, burst: limits.followups });
  if (own) tellRate('interaction', own);
  const all = await ask({ key: `application:${applicationId}`, ...rate });
  if (all?.allowed === false) tellRate('application', all);
}
