import { channelKinds } from '../../base/channel-kinds.ts';
import { groupBy } from '../../base/group-by.ts';
import { composeId, idEpochMs } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { DmDoc } from '../../store/mongo/models/dm.ts';
import type { Platform } from '../../store/platform.ts';
import { type JoinedServer, loadJoinedServers } from '../views/joined-servers.ts';
import { loadDms } from './dms.ts';

/** A channel, thread or DM that an account can read, and how far it has read there. */
export interface ReadPosition {
  channelId: string;
  readMessageId: string | null;
  /** Without a read mark, messages with ids above this are unread: those since the account joined the server, or all of a DM. */
  since: string;
  /** The account's roles in the server. A mention of one of them mentions the account. */
  roleIds: readonly string[];
  /** null in a server. */
  dm: DmDoc | null;
}

type UnmarkedPosition = Omit<ReadPosition, 'readMessageId'>;
type ReadMarks = Map<string, string>;

async function loadMarks(platform: Platform, filter: object): Promise<[channelId: string, messageId: string][]> {
  const found = await platform.db.reads.find(filter).sort({ userId: 1, messageId: -1 }).limit(limits.readsListed).toArray();
  return found.map(({ channelId, messageId }) => [channelId, messageId]);
}

/** Servers with the channels that an account can view, and DMs of the account. */
export interface Readable {
  servers: readonly JoinedServer[];
  dms: readonly DmDoc[];
}

/** Everything that an account can read. */
export async function loadReadable(platform: Platform, userId: string): Promise<Readable> {
  const allServers = { after: '', servers: 0, channels: 0 };
  const [{ joined }, dms] = await Promise.all([loadJoinedServers(platform, userId, allServers), loadDms(platform, userId)]);
  return { servers: joined, dms };
}

/** The text and announcement channels of these servers, and their threads among `marked`, unless archived. */
async function findServerPositions(
  { db }: Platform,
  servers: readonly JoinedServer[],
  marked: readonly string[],
): Promise<UnmarkedPosition[]> {
  const threads = await db.channels
    .find(
      {
        _id: { $in: [...marked] },
        serverId: { $in: servers.map(({ server }) => server._id) },
        kind: 'thread',
        archived: false,
      },
      { projection: { parentId: 1 } },
    )
    .sort({ _id: 1 })
    .toArray();
  const threadsByParent = groupBy(threads, ({ parentId }) => parentId ?? '');
  return servers.flatMap(({ member, channels }) => {
    const messageChannels = channels.filter(({ kind }) => channelKinds[kind].hasThreadsAndWebhooks);
    const since = composeId(member.joinedAt.getTime(), 0, 0);
    return messageChannels
      .flatMap(({ _id }) => [{ _id }, ...(threadsByParent.get(_id) ?? [])])
      .map(({ _id }) => ({ channelId: _id, since, roleIds: member.roles, dm: null }));
  });
}

const toDmPositions = (dms: readonly DmDoc[]): UnmarkedPosition[] =>
  dms.map((dm) => ({ channelId: dm._id, since: composeId(idEpochMs, 0, 0), roleIds: [], dm }));

/** The newest id that is known of a channel without querying its newest message. Decides which channels stay when there are too many. */
const newestKnownId = ({ channelId, dm }: UnmarkedPosition, marks: ReadMarks): string => {
  const knownIds = [channelId, marks.get(channelId) ?? '', dm?.activeId ?? ''];
  return knownIds.reduce((newest, one) => (one > newest ? one : newest));
};

/** The channels, threads and DMs that the account can read, at most 1,000. If there are more, those that were created, read or active last. */
export async function loadReadPositions(platform: Platform, userId: string, { servers, dms }: Readable): Promise<ReadPosition[]> {
  const marks: ReadMarks = new Map(await loadMarks(platform, { userId }));
  const channels = await findServerPositions(platform, servers, [...marks.keys()]);
  const positions = [...channels, ...toDmPositions(dms)]
    .map((position) => ({ position, novelty: newestKnownId(position, marks) }))
    .sort((a, b) => (a.novelty < b.novelty ? 1 : -1))
    .slice(0, limits.readsListed)
    .map(({ position }) => position);
  if (marks.size === limits.readsListed) {
    const unmarkedIds = positions.filter(({ channelId }) => !marks.has(channelId)).map(({ channelId }) => `${userId}:${channelId}`);
    for (const [channelId, messageId] of await loadMarks(platform, { userId, _id: { $in: unmarkedIds } })) marks.set(channelId, messageId);
  }
  return positions.map((position) => ({ ...position, readMessageId: marks.get(position.channelId) ?? null }));
}
