import { groupBy } from '../../base/group-by.ts';
import { limits } from '../../base/limits.ts';
import { computePermissions, hasPermission } from '../../base/permissions.ts';
import { readByIds } from '../../store/mongo/batched-reads.ts';
import { toServerCreateId } from '../../store/mongo/models/outbox.ts';
import { type ChannelDoc, type MemberDoc, type ServerDoc, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { findAllServerIds, findServerIdPages, findServerIds, readMembers } from '../access/memberships.ts';

/** A server that an account is in. */
export interface JoinedServer {
  server: ServerDoc;
  member: MemberDoc;
  /** The channels that the account can view, by position, without threads. */
  channels: ChannelDoc[];
}

/**
 * A page of the servers that an account is in: those after the id `after`, at most `servers` of them, with at most `channels` channels in total. 0 means no
 * limit.
 */
export interface JoinedServersQuery {
  after: string;
  servers: number;
  channels: number;
}

/** The servers of a page, and the id to continue after; null on the last page. */
export interface JoinedServersPage<S extends JoinedServer = JoinedServer> {
  joined: S[];
  next: string | null;
}

const addOne = (limit: number): number => (limit === 0 ? 0 : limit + 1);

/**
 * The servers that an account is in, oldest first, in four queries. A page ends before the server whose channels would exceed the limit, so that limit must be
 * at least `channelsPerServer`.
 */
export async function loadJoinedServers(platform: Platform, userId: string, page: JoinedServersQuery): Promise<JoinedServersPage> {
  const { members, servers, channels } = platform.db;
  const found =
    page.servers === 0 ? await findAllServerIds(platform, userId) : await findServerIds(platform, userId, page.after, page.servers + 1);
  const ids = page.servers === 0 ? found : found.slice(0, page.servers);
  const [memberDocs, serverDocs, channelDocs] = await Promise.all([
    members.find(toMemberKeys(ids, [userId])).toArray(),
    servers.find({ _id: { $in: ids } }).toArray(),
    channels
      .find({ serverId: { $in: ids }, position: { $gte: 0 } })
      .sort({ serverId: 1, position: 1 })
      .limit(addOne(page.channels))
      .toArray(),
  ]);
  const end = page.channels > 0 && channelDocs.length > page.channels ? ids.indexOf(channelDocs.at(-1)?.serverId ?? '') : ids.length;
  const serversById = new Map(serverDocs.map((server) => [server._id, server]));
  const channelsByServer = groupBy(channelDocs, ({ serverId }) => serverId);
  const membersByServer = new Map(memberDocs.map((member) => [member.serverId, member]));
  const joined = ids.slice(0, end).flatMap((serverId) => {
    const [server, member] = [serversById.get(serverId), membersByServer.get(serverId)];
    if (!server || !member) return [];
    const visible = (channelsByServer.get(server._id) ?? []).filter(({ overwrites }) =>
      hasPermission(computePermissions(server, member, overwrites), 'View Channel'),
    );
    return [{ server, member, channels: visible }];
  });
  return { joined, next: end < ids.length || found.length > ids.length ? (ids[end - 1] ?? null) : null };
}

/** A server that an account is in by a join, and the id of its pending SERVER_CREATE, if any. */
export interface Joined {
  serverId: string;
  joinId: string;
  pending: string | undefined;
  member: MemberDoc;
}

/**
 * The servers that an account is in now, in a query for each 1,000 servers; the members are read together with those of other calls. The members of a server are
 * deleted after the server, while its removal is stored. It is left out meanwhile, because no `SERVER_CREATE` can be sent of it.
 */
export async function findJoinedServers(platform: Platform, userId: string): Promise<Joined[]> {
  const { db } = platform;
  const joined: Joined[] = [];
  for await (const serverIds of findServerIdPages(platform, userId)) {
    const [members, removals] = await Promise.all([readMembers(platform, serverIds, [userId]), readByIds(db.removals, serverIds)]);
    const gone = new Set(removals.map(({ _id }) => _id));
    for (const { _id } of await readByIds(db.servers, [...gone])) gone.delete(_id);
    for (const member of members) {
      const { serverId, joinId = '', outbox } = member;
      if (gone.has(serverId)) continue;
      const join = outbox?.find(({ name }) => name === 'MEMBER_ADD');
      joined.push({ serverId, joinId, pending: join && toServerCreateId(join.id), member });
    }
  }
  return joined;
}

/** A server that an account is in, with the active (not archived) threads of its visible channels: at most 1,000, latest activity first. */
export interface FullServer extends JoinedServer {
  threads: ChannelDoc[];
}

/**
 * Adds the threads to the servers of a page, in one query. If they are more than 1,000 in total, the page ends before the server that exceeds this, or after it
 * if that server alone has 1,000.
 */
export async function addThreads({ db }: Platform, { joined, next }: JoinedServersPage): Promise<JoinedServersPage<FullServer>> {
  const maxThreads = limits.threadsListed;
  const found = await db.channels
    .find({
      serverId: { $in: joined.map(({ server }) => server._id) },
      archiveAt: { $exists: true },
      parentId: { $in: joined.flatMap(({ channels }) => channels.map(({ _id }) => _id)) },
    })
    .sort({ serverId: 1, lastActivityAt: -1, _id: -1 })
    .limit(maxThreads + 1)
    .toArray();
  const threadsByServer = groupBy(found, ({ serverId }) => serverId);
  const full = joined.map((one) => ({ ...one, threads: (threadsByServer.get(one.server._id) ?? []).slice(0, maxThreads) }));
  if (found.length <= maxThreads) return { joined: full, next };
  const last = full.findIndex(({ server }) => server._id === found.at(-1)?.serverId);
  const end = full[last]?.threads.length === maxThreads ? last + 1 : last;
  return { joined: full.slice(0, end), next: end === full.length ? next : (full[end - 1]?.server._id ?? null) };
}
