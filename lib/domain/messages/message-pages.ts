import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Message } from '../../contract/message.ts';
import type { MessagePage } from '../../contract/shared.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import type { Horizon } from '../../store/redis/horizon.ts';
import { inPlace } from '../channels/channel-context.ts';
import type { Actor } from '../members/access.ts';
import { presentMessages } from './message-view.ts';

/**
 * The last page that was read of a channel. Every id below `below` is settled: none is given out or in flight any more. `authorIds` are the authors of its
 * messages.
 */
interface LastPage {
  readonly below: string;
  readonly authorIds: readonly string[];
}

const lastPageOf = (platform: Platform, channelId: string): LastPage | undefined =>
  platform.cache.get(`page:${channelId}`) as LastPage | undefined;

/** What a list of messages reads while its preflight runs. */
export interface PageAhead {
  /** The accounts whose versions the preflight reads too, because the page will probably show them. */
  readonly authorIds: readonly string[];
  /** The messages of the page, newest first; null when they can only be read after the preflight. */
  readonly found: Promise<MessageDoc[]> | null;
}

/** The start of a list of messages: the result of the preflight, and what was read beside it. */
export interface PageStart {
  /** Null while Redis is unavailable. */
  readonly horizon: Horizon | null;
  /** The access versions that the preflight read, by id. */
  readonly versions: ReadonlyMap<string, string | null>;
  readonly ahead: PageAhead | null;
}

/** How many authors' versions a preflight reads. */
const authorsMost = 50;

const findMessages = async (
  { db }: Platform,
  channelId: string,
  bound: { $lt?: string; $gt?: string },
  newestFirst: boolean,
  limit: number,
): Promise<MessageDoc[]> => {
  const filter = { channelId, ...(Object.keys(bound).length ? { _id: bound } : {}), deleted: { $exists: false } };
  const found = await db.messages.collection
    .find(filter as never)
    .sort({ _id: newestFirst ? -1 : 1 })
    .limit(limit)
    .toArray();
  return found as unknown as MessageDoc[];
};

/**
 * Starts to list messages while the preflight runs. `query` is not validated yet. The messages are read at once if they are certain to be the same after the
 * preflight: on a page before an id that was settled when this process last read the channel. The caller's permissions are checked before any of it is
 * returned.
 */
export function readPageAhead(platform: Platform, channelId: string, query: Record<string, unknown>, mayRead: boolean): PageAhead {
  const last = lastPageOf(platform, channelId);
  const { before, after, limit: given = String(limits.pageDefault) } = query;
  const limit = typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : 0;
  const isSettled = last !== undefined && isId(before) && before <= last.below && after === undefined;
  const found =
    mayRead && isSettled && limit > 0 && limit <= limits.pageMax ? findMessages(platform, channelId, { $lt: before }, true, limit) : null;
  found?.catch(() => undefined); // thrown where it is awaited
  return { authorIds: last?.authorIds ?? [], found };
}

/** Waits until no insert below the horizon is in flight, then reads the page. */
async function readPage(platform: ApiPlatform, channelId: string, page: MessagePage, horizon: Horizon | null): Promise<MessageDoc[]> {
  const below = horizon && (await platform.messageOrder.settled(channelId, horizon));
  const [end] = [page.before, below].filter((one) => typeof one === 'string').toSorted();
  const bound = { ...(end === undefined ? {} : { $lt: end }), ...(page.after === undefined ? {} : { $gt: page.after }) };
  const found = await findMessages(platform, channelId, bound, page.after === undefined, page.limit ?? limits.pageDefault);
  const authorIds = [...new Set(found.map(({ authorId }) => authorId))].slice(0, authorsMost);
  if (below !== null && platform.redisUp()) platform.cache.set(`page:${channelId}`, { below, authorIds } satisfies LastPage);
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
  page: MessagePage,
  { horizon, versions, ahead }: PageStart,
): Promise<Message[]> {
  await inPlace(platform, actor, channelId);
  if (page.before !== undefined && page.after !== undefined)
    refuse('invalid_request', { reason: 'before and after cannot be used together' });
  const found = await (ahead?.found ?? readPage(platform, channelId, page, horizon));
  return presentMessages(platform, page.after === undefined ? found.reverse() : found, actor.account, versions);
}
