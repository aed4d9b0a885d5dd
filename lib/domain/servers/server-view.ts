import { limits } from '../../base/limits.ts';
import { holds, type MemberRules } from '../../base/permissions.ts';
import type { Channel } from '../../contract/channel.ts';
import type { Role, Server, ServerSummary } from '../../contract/server.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import type { FullServer } from '../accounts/joined-servers.ts';
import { permissionsIn, type ServerAccess } from '../members/access.ts';

/** A channel as it is shown. Fields that do not apply to its kind are null (docs/behavior/servers.md#channel-fields). */
export function channelOf(channel: ChannelDoc): Channel {
  const { kind } = channel;
  const thread = kind === 'thread';
  const posts = kind === 'text' || kind === 'announcement';
  return {
    id: channel._id,
    serverId: channel.serverId,
    name: channel.name,
    position: thread ? null : channel.position,
    kind,
    parentId: channel.parentId,
    topic: posts ? channel.topic : null,
    slowmodeSecs: posts || thread ? channel.slowmodeSecs : null,
    contentMode: posts ? channel.contentMode : null,
    autoArchiveMinutes: posts || thread ? channel.autoArchiveMinutes : null,
    archived: thread ? channel.archived : null,
    threadOwnerId: channel.threadOwnerId ?? null,
    threadStarterId: channel.threadStarterId ?? null,
    messageCount: channel.messageCount ?? null,
    overwrites: thread ? [] : channel.overwrites.map(({ id, allow, deny }) => ({ id, allow, deny })),
  };
}

/** A server's roles as they are shown: highest first, `@everyone` last (docs/behavior/servers.md#server-fields). */
export const rolesOf = (server: ServerDoc): Role[] =>
  server.roles.map(({ id, name, color, hoist, permissions }, position) => ({ id, name, color, hoist, position, permissions })).toReversed();

/** The ids of a member's existing roles, highest first, without `@everyone` (docs/behavior/servers.md#everyone-role). */
export const roleIdsOf = (server: ServerDoc, member: MemberRules): string[] =>
  server.roles
    .filter((role, position) => position > 0 && member.roles.includes(role.id))
    .map((role) => role.id)
    .toReversed();

/** A server in a list. */
export const summaryOf = ({ _id, name, iconUrl, types, community, listed }: ServerDoc): ServerSummary => ({
  id: _id,
  name,
  iconUrl,
  types,
  community,
  listed,
});

/** The threads of these channels that are not archived, read from the database, newest activity first, at most 1,000. */
async function activeThreads({ db }: Platform, serverId: string, parents: readonly ChannelDoc[]): Promise<ChannelDoc[]> {
  return db.channels
    .find({ serverId, archiveAt: trusted({ $exists: true }), parentId: trusted({ $in: parents.map((one) => one._id) }) })
    .sort({ lastActivityAt: -1, _id: -1 })
    .limit(limits.threadsListed)
    .lean();
}

/** A server in full: the visible channels by position, then their open threads by activity, newest first (docs/behavior/servers.md#server-fields). */
export function showServer({ server, member, channels, threads }: FullServer): Server {
  const { id, name, iconUrl, types, community, listed } = summaryOf(server);
  return {
    id,
    name,
    iconUrl,
    ownerId: server.ownerId,
    channels: [...channels, ...threads].map(channelOf),
    roles: rolesOf(server),
    myRoles: roleIdsOf(server, member),
    invitesPaused: server.invitesPaused,
    types,
    community,
    listed,
  };
}

/** A server in full, as `member` sees it. */
export async function serverOf(platform: Platform, access: ServerAccess, member: MemberDoc): Promise<Server> {
  const { server } = access;
  const channels: ChannelDoc[] = [];
  for (const channel of await access.channels())
    if (holds(await permissionsIn(access, member, channel), 'View Channel')) channels.push(channel);
  return showServer({ server, member, channels, threads: await activeThreads(platform, server._id, channels) });
}
