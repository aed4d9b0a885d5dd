import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from 'koa';
import { limits } from '../../../lib/base/limits.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import type { Bucket, Verdict } from '../../../lib/store/redis/throttle.ts';
import { applyVerdict } from './rate-headers.ts';

/** The strict bucket of an address for logins and registrations: 10 at once, refilled by 10 a minute. */
export const addressLogins = (address: string): Bucket => ({ key: `login:${address}`, perSecond: 10 / 60, burst: 10 });

/** The bucket of logins with one username from one address: 20 at once, refilled by 3 a minute. */
const pairLogins = (username: string, address: string): Bucket => ({
  key: `login-pair:${address}:${username}`,
  perSecond: 3 / 60,
  burst: 20,
});

/** The bucket of logins with one username from all addresses: 30 at once, refilled by 10 a minute. Attempts above that are only delayed. */
const nameLogins = (username: string): Bucket => ({ key: `login-name:${username}`, perSecond: 10 / 60, burst: 30 });
/** This many attempts for a username at once are not delayed. Each further one is delayed by `delayStepMs` more, in milliseconds. */
const undelayedTries = 10;
const delayStepMs = 200;

/** The delay of an attempt by the `verdict` on its username's bucket, in milliseconds. It grows with each attempt, up to 4 s. */
const delayMs = ({ allowed, limit, remaining }: Verdict): number =>
  allowed ? Math.min(limits.loginDelayMs, Math.max(0, limit - remaining - undelayedTries) * delayStepMs) : limits.loginDelayMs;

/** How many logins of this process are being delayed now. */
let delayed = 0;

/**
 * Counts an attempt to log in as `username` from `address`. Refuses `rate_limited` after too many attempts for this username from this address. Too many
 * attempts for this username from all addresses are never refused, so that nobody can lock an account out. They are delayed by at most 4 s, before the password
 * is checked. There is no delay while 1,000 other logins of this process are being delayed.
 */
export async function takeLogin(ctx: Context, platform: ApiPlatform, username: string, address: string): Promise<void> {
  if (platform.config.RATE_LIMIT === null) return;
  const take = async (bucket: Bucket): Promise<Verdict | null> => (await platform.gate({ bucket, versionsOf: [], wantId: false })).verdict;
  const pair = await take(pairLogins(username, address));
  if (pair?.allowed === false) applyVerdict(ctx, 'login', pair);
  const name = await take(nameLogins(username));
  const waitMs = name ? delayMs(name) : 0;
  if (waitMs === 0 || delayed >= limits.loginsDelayed) return;
  delayed++;
  try {
    await pause(waitMs);
  } finally {
    delayed--;
  }
}
