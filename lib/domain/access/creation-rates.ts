import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { viewingBits } from '../../base/permissions.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { type Bucket, countInBucket } from '../../store/redis/preflight.ts';
import type { Actor, ServerAccess } from './checks.ts';

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

/** The bucket of changes of who can view channels. A change counts once for each of the channels, because an event is sent for each. */
const toViewBucket = (key: string, channels: number): Bucket => ({
  key: `views:${key}`,
  perSecond: limits.viewChangesPerSecond,
  burst: limits.viewChangesBurst,
  cost: channels,
});

/**
 * Counts a change of a role or of the owner that changes who can view the channels of a server, for `actor` and then for the server. Refuses `rate_limited`.
 * Counts nothing while RATE_LIMIT is off (docs/behavior/requests.md#creation-limits).
 */
export async function countViewChange(platform: ApiPlatform, actor: Actor, access: ServerAccess): Promise<void> {
  const { length } = await access.channels();
  if (length > 0)
    await countCreation(
      platform,
      [actor.id, access.server._id].map((key) => toViewBucket(key, length)),
    );
}

/**
 * Counts a change of one member's roles, by the channels that `roleId` can show or hide: for `actor` in the server, and for the member. Refuses `rate_limited`.
 * Counts nothing while RATE_LIMIT is off (docs/behavior/requests.md#creation-limits).
 */
export async function countMemberViewChange(
  platform: ApiPlatform,
  actor: Actor,
  access: ServerAccess,
  { userId, roleId }: { userId: string; roleId: string },
): Promise<void> {
  const { server } = access;
  const [everyone] = server.roles;
  const permissions = server.roles.find(({ id }) => id === roleId)?.permissions ?? 0;
  const showsAll = (permissions & ~(everyone?.permissions ?? 0) & viewingBits) !== 0;
  const { length } = (await access.channels()).filter(({ overwrites }) => showsAll || overwrites.some(({ id }) => id === roleId));
  // Bots give roles to many members, so they may change more than one member sees of it.
  const ofActor = { perSecond: limits.givenViewsPerSecond, burst: limits.givenViewsBurst, cost: length };
  if (length > 0)
    await countCreation(platform, [
      { key: `given-views:${server._id}:${actor.id}`, ...ofActor },
      toViewBucket(`${server._id}:${userId}`, length),
    ]);
}

/**
 * Counts a crosspost in the buckets with these keys, once for each copy that is made of it, because a worker has to make them. Refuses `rate_limited`. Counts
 * nothing while RATE_LIMIT is off (docs/behavior/requests.md#creation-limits).
 */
export const countCopies = (platform: ApiPlatform, keys: readonly string[], copies: number): Promise<void> =>
  countCreation(
    platform,
    keys.map((key) => ({ key: `copies:${key}`, perSecond: limits.copiesPerSecond, burst: limits.copiesBurst, cost: copies })),
  );
