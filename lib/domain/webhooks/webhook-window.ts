import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Platform } from '../../store/platform.ts';
import type { Verdict } from '../../store/redis/throttle.ts';

/** Who posts by a webhook: somebody with its URL, or a delivery of a code host. */
export type PostedBy = 'direct' | 'delivery';

/** The most posts that deliveries may make of a webhook's 5 in 5 seconds, so that direct posts are not starved (docs/guarantees.md#priorities). */
const deliveryPlaces = limits.webhookPosts - 1;

/** The windows that a post counts in. `field` holds the times of the last posts, oldest first. `places` is how many posts the window allows. */
const windowsOf = (by: PostedBy) => [
  { field: 'posts' as const, places: limits.webhookPosts },
  ...(by === 'delivery' ? [{ field: 'deliveryPosts' as const, places: deliveryPlaces }] : []),
];

/** When a window allows the next post: 5 seconds after the oldest of its last `places` posts. */
const opensAt = ({ field, places }: ReturnType<typeof windowsOf>[number]) => ({
  $add: [{ $ifNull: [{ $arrayElemAt: [`$${field}`, -places] }, new Date(0)] }, limits.webhookWindowMs],
});

/** The time of a post: `$$NOW`, or the time of the post before it if that is later, so that times never go back. */
const postedAt = { $max: ['$$NOW', { $ifNull: [{ $arrayElemAt: ['$posts', -1] }, new Date(0)] }] };

interface Looked {
  posts: Date[];
  now: Date;
  opensAt: Date;
}

/** The state of a webhook's windows, by the database's clock; 404 when the webhook is gone. */
async function look({ db }: Platform, webhookId: string, by: PostedBy): Promise<Looked> {
  const set = { now: '$$NOW', opensAt: { $max: windowsOf(by).map(opensAt) } };
  const [found] = await db.webhooks.collection
    .aggregate([{ $match: { _id: webhookId } }, { $set: set }, { $project: { posts: 1, now: 1, opensAt: 1 } }])
    .toArray();
  return (found as unknown as Looked | undefined) ?? refuse('not_found', { what: 'webhook' });
}

/** The verdict for the response: how many posts are left, when all are free again, and how long to wait for the next one. */
function verdictOf({ posts, now, opensAt: opens }: Looked, allowed: boolean): Verdict {
  const since = now.getTime() - limits.webhookWindowMs;
  const held = posts.filter((at) => at.getTime() > since);
  const last = held.at(-1)?.getTime() ?? since;
  return {
    allowed,
    limit: limits.webhookPosts,
    remaining: limits.webhookPosts - held.length,
    resetAfterSecs: (last - since) / 1000,
    retryAfterSecs: allowed ? 0 : (opens.getTime() - now.getTime()) / 1000,
  };
}

/**
 * Takes one of a webhook's 5 posts in 5 seconds, if one is left (docs/behavior/webhooks.md#rate): any 5 seconds have at most 5 posts. One conditional update of
 * the webhook's document decides, by the database's clock, so the limit is exact with any number of nodes and while Redis is unavailable. A refused post does
 * not count. Deliveries use at most 4 of the 5. 404 if the webhook is gone.
 */
export async function askPlace(platform: Platform, webhookId: string, by: PostedBy): Promise<Verdict> {
  const windows = windowsOf(by);
  const room = { $and: windows.map((one) => ({ $lte: [opensAt(one), '$$NOW'] })) };
  const taken = windows.map(({ field, places }) => [field, { $slice: [{ $concatArrays: [`$${field}`, [postedAt]] }, -places] }]);
  for (;;) {
    const after = await platform.db.webhooks.collection.findOneAndUpdate(
      { _id: webhookId as never, $expr: room },
      [{ $set: Object.fromEntries(taken) }],
      { returnDocument: 'after', projection: { posts: 1 } },
    );
    if (after) {
      const posts = after.posts as Date[];
      const now = posts.at(-1) as Date;
      return verdictOf({ posts, now, opensAt: now }, true);
    }
    const looked = await look(platform, webhookId, by);
    if (looked.opensAt > looked.now) return verdictOf(looked, false);
  }
}

/** Like `askPlace`, for callers that retry later. Returns null when the post is allowed, else how many milliseconds to wait. */
export async function takePlace(platform: Platform, webhookId: string, by: PostedBy): Promise<number | null> {
  const { allowed, retryAfterSecs } = await askPlace(platform, webhookId, by);
  return allowed ? null : Math.ceil(retryAfterSecs * 1000);
}
