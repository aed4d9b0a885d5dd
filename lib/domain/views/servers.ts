import { channelKinds } from '../../base/channel-kinds.ts';
import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { hasPermission, type MemberRules } from '../../base/permissions.ts';
import type { Channel } from '../../contract/channel.ts';
import type { Role, Server, ServerSummary } from '../../contract/server.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { computeChannelPermissions, loadCurrentServerAccess, type ServerAccess } from '../access/checks.ts';
import { getMessageRetention } from '../retention.ts';
import type { FullServer } from './joined-servers.ts';

/** A channel as it is shown. Fields that do not apply to its kind are null (docs/behavior/servers.md#channel-fields). */
export function toChannel(channel: ChannelDoc): Channel {
  const { kind } = channel;
  const isThread = kind === 'thread';
  const { hasMessages, hasThreadsAndWebhooks, hasOverwrites } = channelKinds[kind];
  return {
    id: channel._id,
    serverId: channel.serverId,
    name: channel.name,
    position: isThread ? null : channel.position,
    kind,
    parentId: channel.parentId,
    topic: hasThreadsAndWebhooks ? channel.topic : null,
    slowmodeSecs: hasMessages ? channel.slowmodeSecs : null,
    contentMode: hasThreadsAndWebhooks ? channel.contentMode : null,
    autoArchiveMinutes: hasMessages ? channel.autoArchiveMinutes : null,
    archived: isThread ? channel.archived : null,
    threadOwnerId: channel.threadOwnerId ?? null,
    threadStarterId: channel.threadStarterId ?? null,
    messageCount: channel.messageCount ?? null,
    overwrites: hasOverwrites ? channel.overwrites.map(({ id, allow, deny }) => ({ id, allow, deny })) : [],
  };
}

/** A server's roles as they are shown: highest first, `@everyone` last (docs/behavior/servers.md#server-fields). */
export const toRoles = (server: ServerDoc): Role[] =>
  server.roles.map(({ id, name, color, hoist, permissions }, position) => ({ id, name, color, hoist, position, permissions })).toReversed();

/** A role of a server as it is shown; undefined when the server has no such role. */
export const findShownRole = (server: ServerDoc, roleId: string): Role | undefined => toRoles(server).find(({ id }) => id === roleId);

/** The ids of a member's existing roles, highest first, without `@everyone` (docs/behavior/servers.md#everyone-role). */
export const toRoleIds = (server: ServerDoc, member: MemberRules): string[] =>
  server.roles
    .filter((role, position) => position > 0 && member.roles.includes(role.id))
    .map((role) => role.id)
    .toReversed();

/** A server in a list. */
export const toServerSummary = ({ _id, name, iconUrl, types, community, listed }: ServerDoc): ServerSummary => ({
  id: _id,
  name,
  iconUrl,
  types,
  community,
  listed,
});

/** The threads of these channels that are not archived, read from the database, newest activity first, at most 1,000. */
async function findActiveThreads({ db }: Platform, serverId: string, parents: readonly ChannelDoc[]): Promise<ChannelDoc[]> {
  return db.channels
    .find({ serverId, archiveAt: { $exists: true }, parentId: { $in: parents.map((one) => one._id) } })
    .sort({ lastActivityAt: -1, _id: -1 })
    .limit(limits.threadsListed)
    .toArray();
}

/** A server in full: the visible channels by position, then their open threads by activity, newest first (docs/behavior/servers.md#server-fields). */
export function toServer({ config }: Pick<Platform, 'config'>, { server, member, channels, threads }: FullServer): Server {
  const { id, name, iconUrl, types, community, listed } = toServerSummary(server);
  return {
    id,
    name,
    iconUrl,
    ownerId: server.ownerId,
    channels: [...channels, ...threads].map(toChannel),
    roles: toRoles(server),
    myRoles: toRoleIds(server, member),
    invitesPaused: server.invitesPaused,
    types,
    community,
    listed,
    messageRetentionDays: getMessageRetention(config, server),
  };
}

/** A server in full, as `member` sees it. */
export async function loadServerView(platform: Platform, access: ServerAccess, member: MemberDoc): Promise<Server> {
  const { server } = access;
  const channels: ChannelDoc[] = [];
  for (const channel of await access.channels())
    if (hasPermission(await computeChannelPermissions(access, member, channel), 'View Channel')) channels.push(channel);
  return toServer(platform, { server, member, channels, threads: await findActiveThreads(platform, server._id, channels) });
}

/** The server as `userId` sees it now; its access version is read again. 404 when it is gone or the account is not in it. */
export async function loadCurrentServerView(platform: Platform, serverId: string, userId: string): Promise<Server> {
  const access = await loadCurrentServerAccess(platform, serverId);
  const member = access && (await access.member(userId));
  return access && member ? loadServerView(platform, access, member) : refuse('not_found', { what: 'server' });
}
