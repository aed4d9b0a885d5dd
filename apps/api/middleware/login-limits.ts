import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from 'koa';
import { limits } from '../../../lib/base/limits.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import type { Bucket, Verdict } from '../../../lib/store/throttle.ts';
import { applyVerdict } from './rate-headers.ts';

/** The strict bucket of an address for log-ins and registrations: 10 a minute. */
export const addressLogins = (address: string): Bucket => ({ key: `login:${address}`, perSecond: 10 / 60, burst: 10 });

/** Log-ins as one name from one address: 20, then 3 a minute. */
const pairLogins = (username: string, address: string): Bucket => ({
  key: `login-pair:${address}:${username}`,
  perSecond: 3 / 60,
  burst: 20,
});

/** Log-ins as one name from all addresses together: 10 a minute; what is above only slows down. */
const nameLogins = (username: string): Bucket => ({ key: `login-name:${username}`, perSecond: 10 / 60, burst: 30 });
/** So many tries of a name at once are not slowed down; each further one takes this much longer, in milliseconds. */
const undelayedTries = 10;
const delayStepMs = 200;

/** How long a try waits after `verdict` on its name's bucket, in milliseconds: it grows with each try to 4 s. */
const delayMs = ({ allowed, limit, remaining }: Verdict): number =>
  allowed ? Math.min(limits.loginDelayMs, Math.max(0, limit - remaining - undelayedTries) * delayStepMs) : limits.loginDelayMs;

/** How many log-ins of this process wait because of their name. */
let delayed = 0;

/**
 * Counts a try to log in as `username` from `address`. Refuses `rate_limited` for too many of this name from this address. Too many of this name from all
 * addresses make it wait, 4 s at most, and are never refused: strangers must not lock an account out. It waits before it takes a turn to be hashed, and only
 * while few others wait.
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
