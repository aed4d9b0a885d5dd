import { idOf } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { holds, permissionsOf } from '../base/permissions.ts';
import { trusted } from '../store/database.ts';
import type { DmDoc } from '../store/models/dm.ts';
import type { ChannelDoc } from '../store/models/server.ts';
import type { Platform } from '../store/platform.ts';

/** Where a person has something to read. */
export interface ReadPlace {
  channelId: string;
  readMessageId: string | null;
  /** What counts as unread when nothing was ever read: ids above this, made since the person joined; all of them in a DM. */
  since: string;
  /** The person's roles there, whose mentions are theirs. */
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

/** The channels of the person's servers, and the threads among `marked`, that they may view; read anew, in a few queries however many servers. */
async function inServers(platform: Platform, userId: string, marked: readonly string[]): Promise<Found[]> {
  const { members, servers, channels } = platform.db;
  const memberships = await members.find({ userId }).sort({ serverId: 1 }).lean();
  const inThese = { serverId: trusted({ $in: memberships.map((one) => one.serverId) }) };
  const fields = { serverId: 1, kind: 1, parentId: 1, overwrites: 1 } as const;
  const [theirs, written, threads] = await Promise.all([
    servers.find({ _id: inThese.serverId }, { ownerId: 1, roles: 1 }).sort({ _id: 1 }).lean(),
    channels
      .find({ ...inThese, kind: trusted({ $in: ['text', 'announcement'] }) }, fields)
      .sort({ serverId: 1, position: 1 })
      .lean(),
    channels
      .find({ ...inThese, _id: trusted({ $in: [...marked] }), kind: 'thread', archived: false }, fields)
      .sort({ _id: 1 })
      .lean(),
  ]);
  const memberOf = new Map(memberships.map((one) => [one.serverId, one]));
  const serverOf = new Map(theirs.map((one) => [one._id, one]));
  const parentOf = new Map(written.map((one) => [one._id, one]));
  return [...written, ...threads].flatMap((channel: Pick<ChannelDoc, '_id' | 'serverId' | 'kind' | 'parentId' | 'overwrites'>) => {
    const [server, member] = [serverOf.get(channel.serverId), memberOf.get(channel.serverId)];
    const deciding = channel.kind === 'thread' ? parentOf.get(channel.parentId ?? '') : channel;
    if (!server || !member || !deciding) return [];
    if (!holds(permissionsOf(server, member, deciding.overwrites), 'View Channel')) return [];
    return [{ channelId: channel._id, since: idOf(member.joinedAt.getTime(), 0, 0), roleIds: member.roles, dm: null }];
  });
}

async function inDms(platform: Platform, userId: string): Promise<Found[]> {
  const found = await platform.db.dms.find({ userIds: userId }).sort({ activeId: -1 }).limit(limits.dmsListed).lean();
  return found.map((dm) => ({ channelId: dm._id, since: '', roleIds: [], dm }));
}

/** How new a place is as far as is known without looking for its newest message: decides which stay when there are too many. */
const noveltyOf = ({ channelId, dm }: Found, marks: Marks): string => {
  const known = [channelId, marks.get(channelId) ?? '', dm?.activeId ?? ''];
  return known.reduce((newest, one) => (one > newest ? one : newest));
};

/** Where the person has something to read, at most 1,000 places: those made, read or active last when there are more. */
export async function readPlaces(platform: Platform, userId: string): Promise<ReadPlace[]> {
  const marks: Marks = new Map(await marksOf(platform, { userId }));
  const [channels, dms] = await Promise.all([inServers(platform, userId, [...marks.keys()]), inDms(platform, userId)]);
  const places = [...channels, ...dms]
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
