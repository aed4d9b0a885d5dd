import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../../lib/base/limits.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { type Bucket, countInBucket, type RateDecision } from '../../../lib/store/redis/preflight.ts';
import type { Admission } from '../route.ts';

/** The strict bucket of an address for logins and registrations: 10 at once, refilled by 10 a minute. */
export const toAddressLoginBucket = (address: string): Bucket => ({
  key: `login:${address}`,
  perSecond: limits.loginsPerMinute / 60,
  burst: limits.loginsBurst,
});

/** The bucket of logins with one username from one address: 20 at once, refilled by 3 a minute. */
const toPairLoginBucket = (username: string, address: string): Bucket => ({
  key: `login-pair:${address}:${username}`,
  perSecond: 3 / 60,
  burst: 20,
});

/** The bucket of logins with one username from all addresses: 30 at once, refilled by 10 a minute. Attempts above that are only delayed. */
const toNameLoginBucket = (username: string): Bucket => ({ key: `login-name:${username}`, perSecond: 10 / 60, burst: 30 });
/** This many attempts for a username at once are not delayed. Each further one is delayed by `delayStepMs` more, in milliseconds. */
const undelayedAttempts = 10;
const delayStepMs = 200;

/** The delay of an attempt by the `decision` on its username's bucket, in milliseconds. It grows with each attempt, up to 4 s. */
const computeDelayMs = ({ isAllowed, limit, remaining }: RateDecision): number =>
  isAllowed ? Math.min(limits.loginDelayMs, Math.max(0, limit - remaining - undelayedAttempts) * delayStepMs) : limits.loginDelayMs;

/** How many logins of this process are being delayed now. */
let delayedLogins = 0;

/**
 * Counts an attempt to log in as `username` from `address`: the stage `admit` of a route that checks a password. After too many attempts for this username from
 * this address, the bucket refuses. Too many attempts for this username from all addresses are never refused, so that nobody can lock an account out. They are
 * delayed by at most 4 s, before the password is checked. There is no delay while 1,000 other logins of this process are being delayed.
 */
export async function admitLogin(platform: ApiPlatform, username: string, { address }: { address: string }): Promise<Admission> {
  const admitted = { rates: [], found: undefined };
  if (platform.config.RATE_LIMIT === null) return admitted;
  const pairDecision = await countInBucket(platform.preflight, toPairLoginBucket(username, address));
  if (pairDecision?.isAllowed === false) return { ...admitted, rates: [{ bucketName: 'login', decision: pairDecision }] };
  const nameDecision = await countInBucket(platform.preflight, toNameLoginBucket(username));
  const waitMs = nameDecision ? computeDelayMs(nameDecision) : 0;
  if (waitMs === 0 || delayedLogins >= limits.loginsDelayed) return admitted;
  delayedLogins++;
  try {
    await sleep(waitMs);
  } finally {
    delayedLogins--;
  }
  return admitted;
}
