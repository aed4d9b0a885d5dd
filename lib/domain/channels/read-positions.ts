import { groupBy } from '../../base/group-by.ts';
import { idOf } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { DmDoc } from '../../store/mongo/models/dm.ts';
import type { Platform } from '../../store/platform.ts';
import { type JoinedServer, joinedServers } from '../accounts/joined-servers.ts';
import { dmsOf } from './dms.ts';

/** A channel, thread or DM that an account can read, and how far it has read there. */
export interface ReadPlace {
  channelId: string;
  readMessageId: string | null;
  /** Without a read mark, messages with ids above this are unread: those since the account joined the server, or all of a DM. */
  since: string;
  /** The account's roles in the server. A mention of one of them mentions the account. */
  roleIds: readonly string[];
  /** null in a server. */
  dm: DmDoc | null;
}

type Found = Omit<ReadPlace, 'readMessageId'>;
type Marks = Map<string, string>;

async function marksOf(platform: Platform, filter: object): Promise<[channelId: string, messageId: string][]> {
  const found = await platform.db.reads.find(filter).sort({ userId: 1, messageId: -1 }).limit(limits.readsListed).lean();
  return found.map(({ channelId, messageId }) => [channelId, messageId]);
}

/** Servers with the channels that an account can view, and DMs of the account. */
export interface Readable {
  servers: readonly JoinedServer[];
  dms: readonly DmDoc[];
}

/** Everything that an account can read. */
export async function allReadable(platform: Platform, userId: string): Promise<Readable> {
  const everything = { after: '', servers: 0, channels: 0 };
  const [{ joined }, dms] = await Promise.all([joinedServers(platform, userId, everything), dmsOf(platform, userId)]);
  return { servers: joined, dms };
}

/** The text and announcement channels of these servers, and their threads among `marked`, unless archived. */
async function inServers({ db }: Platform, servers: readonly JoinedServer[], marked: readonly string[]): Promise<Found[]> {
  const threads = await db.channels
    .find(
      {
        _id: trusted({ $in: [...marked] }),
        serverId: trusted({ $in: servers.map(({ server }) => server._id) }),
        kind: 'thread',
        archived: false,
      },
      { parentId: 1 },
    )
    .sort({ _id: 1 })
    .lean();
  const threadsOf = groupBy(threads, ({ parentId }) => parentId ?? '');
  return servers.flatMap(({ member, channels }) => {
    const posts = channels.filter(({ kind }) => kind === 'text' || kind === 'announcement');
    const since = idOf(member.joinedAt.getTime(), 0, 0);
    return posts
      .flatMap(({ _id }) => [{ _id }, ...(threadsOf.get(_id) ?? [])])
      .map(({ _id }) => ({ channelId: _id, since, roleIds: member.roles, dm: null }));
  });
}

const inDms = (dms: readonly DmDoc[]): Found[] => dms.map((dm) => ({ channelId: dm._id, since: '', roleIds: [], dm }));

/** The newest id that is known of a channel without querying its newest message. Decides which channels stay when there are too many. */
const noveltyOf = ({ channelId, dm }: Found, marks: Marks): string => {
  const known = [channelId, marks.get(channelId) ?? '', dm?.activeId ?? ''];
  return known.reduce((newest, one) => (one > newest ? one : newest));
};

/** The channels, threads and DMs that the account can read, at most 1,000. If there are more, those that were created, read or active last. */
export async function readPlaces(platform: Platform, userId: string, { servers, dms }: Readable): Promise<ReadPlace[]> {
  const marks: Marks = new Map(await marksOf(platform, { userId }));
  const channels = await inServers(platform, servers, [...marks.keys()]);
  const places = [...channels, ...inDms(dms)]
    .map((place) => ({ place, novelty: noveltyOf(place, marks) }))
    .sort((a, b) => (a.novelty < b.novelty ? 1 : -1))
    .slice(0, limits.readsListed)
    .map(({ place }) => place);
  if (marks.size === limits.readsListed) {
    const older = places.filter(({ channelId }) => !marks.has(channelId)).map(({ channelId }) => `${userId}:${channelId}`);
    for (const [channelId, messageId] of await marksOf(platform, { userId, _id: trusted({ $in: older }) })) marks.set(channelId, messageId);
  }
  return places.map((place) => ({ ...place, readMessageId: marks.get(place.channelId) ?? null }));
}
