import { refuseFields } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Message } from '../../contract/message.ts';
import type { MessagesQuery } from '../../contract/shared.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import type { Horizon } from '../../store/redis/horizon.ts';
import type { Actor } from '../access/checks.ts';
import { requireMessageChannel } from '../channels/context.ts';
import { toMessages } from '../views/messages.ts';

/**
 * The last page that was read of a channel. Every id below `below` is settled: none is given out or in flight any more. `authorIds` are the authors of its
 * messages.
 */
interface LastPage {
  readonly below: string;
  readonly authorIds: readonly string[];
}

const getLastPage = (platform: Platform, channelId: string): LastPage | undefined =>
  platform.accessCache.get(`page:${channelId}`) as LastPage | undefined;

/** What a list of messages reads while its preflight runs. */
export interface PrefetchedPage {
  /** The accounts whose versions the preflight reads too, because the page will probably show them. */
  readonly authorIds: readonly string[];
  /** The messages of the page, newest first; null when they can only be read after the preflight. */
  readonly messages: Promise<MessageDoc[]> | null;
}

/** The start of a list of messages: the result of the preflight, and what was read beside it. */
export interface MessagePreflight {
  /** Null while Redis is unavailable. */
  readonly horizon: Horizon | null;
  /** The access versions that the preflight read, by id. */
  readonly versions: ReadonlyMap<string, string | null>;
  readonly prefetched: PrefetchedPage | null;
}

/** How many authors' versions a preflight reads. */
const prefetchedAuthorsMax = 50;

const findMessages = async (
  { db }: Platform,
  channelId: string,
  bound: { $lt?: string; $gt?: string },
  newestFirst: boolean,
  limit: number,
): Promise<MessageDoc[]> => {
  const filter = { channelId, ...(Object.keys(bound).length ? { _id: bound } : {}), deleted: { $exists: false } };
  const found = await db.messages
    .find(filter)
    .sort({ _id: newestFirst ? -1 : 1 })
    .limit(limit)
    .toArray();
  return found;
};

/**
 * Starts to list messages while the preflight runs. `query` is not validated yet. The messages are read at once if they are certain to be the same after the
 * preflight: on a page before an id that was settled when this process last read the channel. The caller's permissions are checked before any of it is
 * returned.
 */
export function prefetchPage(platform: Platform, channelId: string, query: Record<string, unknown>, canRead: boolean): PrefetchedPage {
  const last = getLastPage(platform, channelId);
  const { before, after, limit: limitText = String(limits.pageDefault) } = query;
  const limit = typeof limitText === 'string' && /^\d{1,3}$/.test(limitText) ? Number(limitText) : 0;
  const isComplete = last !== undefined && isId(before) && before <= last.below && after === undefined;
  const found =
    canRead && isComplete && limit > 0 && limit <= limits.pageMax ? findMessages(platform, channelId, { $lt: before }, true, limit) : null;
  found?.catch(() => undefined); // thrown where it is awaited
  return { authorIds: last?.authorIds ?? [], messages: found };
}

/** Waits until no insert below the horizon is in flight, then reads the page. */
async function readPage(platform: ApiPlatform, channelId: string, page: MessagesQuery, horizon: Horizon | null): Promise<MessageDoc[]> {
  const below = horizon && (await platform.messageOrder.waitForInserts(channelId, horizon));
  const [end] = [page.before, below].filter((one) => typeof one === 'string').toSorted();
  const bound = { ...(end === undefined ? {} : { $lt: end }), ...(page.after === undefined ? {} : { $gt: page.after }) };
  const found = await findMessages(platform, channelId, bound, page.after === undefined, page.limit ?? limits.pageDefault);
  const authorIds = [...new Set(found.map(({ authorId }) => authorId))].slice(0, prefetchedAuthorsMax);
  if (below !== null && platform.isRedisUp()) platform.accessCache.set(`page:${channelId}`, { below, authorIds } satisfies LastPage);
  return found;
}

/**
 * A page of messages, oldest first: the newest, those before an id, or those after one, both exclusive (docs/behavior/messages.md#listing). Needs View Channel.
 * A message that is missing at the newest end has a higher id than the page, so a reader who continues with `after` misses nothing (`MessageOrder`).
 */
export async function listMessages(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  page: MessagesQuery,
  { horizon, versions, prefetched }: MessagePreflight,
): Promise<Message[]> {
  await requireMessageChannel(platform, actor, channelId);
  if (page.before !== undefined && page.after !== undefined)
    refuseFields([{ path: '/after', message: 'Use either before or after, not both.' }], 'query');
  const found = await (prefetched?.messages ?? readPage(platform, channelId, page, horizon));
  return toMessages(platform, page.after === undefined ? found.reverse() : found, actor.account, versions);
}
