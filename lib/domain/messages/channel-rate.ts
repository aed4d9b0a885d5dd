import { limits } from '../../base/limits.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { countInBucket, type RateDecision } from '../../store/redis/preflight.ts';
import type { Actor } from '../access/checks.ts';

/**
 * Counts a post of an account in a channel (docs/behavior/requests.md#rate-limits). People have a tenth of a caller's rate and 1.2 of its bursts there, bots
 * half of the rate and five bursts. `setRateHeaders` is called if the post is not allowed, and refuses. Counts nothing while RATE_LIMIT is off.
 */
export async function countChannelPost(
  { config, preflight }: ApiPlatform,
  { id, isBot }: Actor,
  channelId: string,
  setRateHeaders: (bucketName: string, decision: RateDecision) => void,
): Promise<void> {
  const rate = config.RATE_LIMIT;
  if (rate === null) return;
  const [rateShare, burstShare] = isBot
    ? [limits.botChannelRate, limits.botChannelBurst]
    : [limits.personChannelRate, limits.personChannelBurst];
  const share = { perSecond: rate.perSecond * rateShare, burst: rate.burst * burstShare };
  const decision = await countInBucket(preflight, { key: `channel:${channelId}:${id}`, ...share });
  if (decision?.isAllowed === false) setRateHeaders('channel', decision);
}
