import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Platform } from '../../store/platform.ts';
import type { RateDecision } from '../../store/redis/preflight.ts';

/** Who posts by a webhook: somebody with its URL, or a delivery of a code host. */
export type PostSource = 'direct' | 'delivery';

/** The most posts that deliveries may make of the `limits.webhookPosts` in a window, so that direct posts are not starved (docs/guarantees.md#priorities). */
const deliveryPostsMax = limits.webhookPosts - 1;

/** The windows that a post counts in. `field` holds the times of the last posts, oldest first. `max` is how many posts the window allows. */
const getWindows = (source: PostSource) => [
  { field: 'posts' as const, max: limits.webhookPosts },
  ...(source === 'delivery' ? [{ field: 'deliveryPosts' as const, max: deliveryPostsMax }] : []),
];

/** When a window allows the next post: `limits.webhookWindowMs` after the oldest of its last `max` posts. */
const nextPostAt = ({ field, max }: ReturnType<typeof getWindows>[number]) => ({
  $add: [{ $ifNull: [{ $arrayElemAt: [`$${field}`, -max] }, new Date(0)] }, limits.webhookWindowMs],
});

/** The time of a post: `$$NOW`, or the time of the post before it if that is later, so that times never go back. */
const postedAt = { $max: ['$$NOW', { $ifNull: [{ $arrayElemAt: ['$posts', -1] }, new Date(0)] }] };

interface WindowState {
  posts: Date[];
  now: Date;
  nextPostAt: Date;
}

/** The state of a webhook's windows, by the database's clock; 404 when the webhook is gone. */
async function readWindows({ db }: Platform, webhookId: string, source: PostSource): Promise<WindowState> {
  const set = { now: '$$NOW', nextPostAt: { $max: getWindows(source).map(nextPostAt) } };
  const [found] = await db.webhooks
    .aggregate([{ $match: { _id: webhookId } }, { $set: set }, { $project: { posts: 1, now: 1, nextPostAt: 1 } }])
    .toArray();
  return (found as WindowState | undefined) ?? refuse('not_found', { what: 'webhook' });
}

/** The decision for the response: how many posts are left, when all are free again, and how long to wait for the next one. */
function toRateDecision({ posts, now, nextPostAt: nextAt }: WindowState, isAllowed: boolean): RateDecision {
  const since = now.getTime() - limits.webhookWindowMs;
  const counted = posts.filter((at) => at.getTime() > since);
  const last = counted.at(-1)?.getTime() ?? since;
  return {
    isAllowed,
    limit: limits.webhookPosts,
    remaining: limits.webhookPosts - counted.length,
    resetAfterSecs: (last - since) / 1000,
    retryAfterSecs: isAllowed ? 0 : (nextAt.getTime() - now.getTime()) / 1000,
  };
}

/**
 * Counts a post of a webhook, if the limit allows it (docs/behavior/webhooks.md#rate): at most `limits.webhookPosts` in any `limits.webhookWindowMs`, and at
 * most `deliveryPostsMax` of them by deliveries. One conditional update of the webhook's document decides, by the database's clock, so the limit is exact with
 * any number of nodes and while Redis is unavailable. A refused post does not count. 404 if the webhook is gone.
 */
export async function countPost(platform: Platform, webhookId: string, source: PostSource): Promise<RateDecision> {
  const windows = getWindows(source);
  const isAllowed = { $and: windows.map((one) => ({ $lte: [nextPostAt(one), '$$NOW'] })) };
  const fields = windows.map(({ field, max }) => [field, { $slice: [{ $concatArrays: [`$${field}`, [postedAt]] }, -max] }]);
  for (;;) {
    const after = await platform.db.webhooks.findOneAndUpdate(
      { _id: webhookId, $expr: isAllowed },
      [{ $set: Object.fromEntries(fields) }],
      { returnDocument: 'after', projection: { posts: 1 } },
    );
    if (after) {
      const posts = after.posts;
      const now = posts.at(-1) as Date;
      return toRateDecision({ posts, now, nextPostAt: now }, true);
    }
    const state = await readWindows(platform, webhookId, source);
    if (state.nextPostAt > state.now) return toRateDecision(state, false);
  }
}

/** Like `countPost`, for callers that retry later. Returns null when the post is allowed, else how many milliseconds to wait. */
export async function countPostOrDelayMs(platform: Platform, webhookId: string, source: PostSource): Promise<number | null> {
  const { isAllowed, retryAfterSecs } = await countPost(platform, webhookId, source);
  return isAllowed ? null : Math.ceil(retryAfterSecs * 1000);
}
