import { limits } from '../../base/limits.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { type CountedRate, countInBucket } from '../../store/redis/preflight.ts';
import type { Actor } from '../access/checks.ts';

/**
 * Counts a post of an account in a channel (docs/behavior/requests.md#rate-limits). People have a tenth of a caller's rate and 1.2 of its bursts there, bots
 * half of the rate and five bursts. Returns the bucket if it refuses the post. Counts nothing while RATE_LIMIT is off.
 */
export async function countChannelPost(
  { config, preflight }: ApiPlatform,
  { id, isBot }: Actor,
  channelId: string,
): Promise<CountedRate[]> {
  const rate = config.RATE_LIMIT;
  if (rate === null) return [];
  const [rateShare, burstShare] = isBot
    ? [limits.botChannelRate, limits.botChannelBurst]
    : [limits.personChannelRate, limits.personChannelBurst];
  const share = { perSecond: rate.perSecond * rateShare, burst: rate.burst * burstShare };
  const decision = await countInBucket(preflight, { key: `channel:${channelId}:${id}`, ...share });
  return decision?.isAllowed === false ? [{ bucketName: 'channel', decision }] : [];
}
