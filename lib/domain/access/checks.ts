import { channelKinds } from '../../base/channel-kinds.ts';
import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { computePermissions, hasPermission, type Overwrite, type Permission, toPermissionNames } from '../../base/permissions.ts';
import { readById, readByIds } from '../../store/mongo/batched-reads.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { DmDoc } from '../../store/mongo/models/dm.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { readMember, readMembers } from './memberships.ts';

/** The caller of a request: the account behind the credential, and the access versions that the request runs under. */
export interface Actor {
  readonly account: AccountDoc;
  readonly id: string;
  readonly isBot: boolean;
  /** The access version of the account that the request runs under; null if it is unknown. */
  readonly version: string | null;
  /** The access version of a server, from the preflight or read now; null while Redis is unavailable. */
  versionOf(serverId: string): Promise<string | null>;
}

/** Access data of one server under one version. Channels are loaded when first needed. Members are not covered by the version and are always read. */
export interface ServerAccess {
  /** null: the data was read without a version, because Redis is unavailable. It is not cached. */
  readonly version: string | null;
  readonly server: ServerDoc;
  /** A channel or thread of this server, or null. A thread whose parent channel is deleted is null, even if its document still exists. */
  channel(id: string): Promise<ChannelDoc | null>;
  /** All channels of the server by position, without threads and hidden channels (`heldAt`). */
  channels(): Promise<ChannelDoc[]>;
  /** The membership of an account; null if it is not a member. */
  member(userId: string): Promise<MemberDoc | null>;
  /** The memberships of those accounts that are members, by account id. One query. */
  members(userIds: readonly string[]): Promise<Map<string, MemberDoc>>;
  /** Loads many channels for later calls of `channel`, in at most two queries. The second loads the parents of threads. */
  preloadChannels(ids: readonly string[]): Promise<void>;
  /** The bots that are members. */
  bots(): Promise<MemberDoc[]>;
}

function createServerAccess(platform: Platform, server: ServerDoc, version: string | null): ServerAccess {
  const { db } = platform;
  const channels = new Map<string, Promise<ChannelDoc | null>>();
  let allChannels: Promise<ChannelDoc[]> | null = null;
  const loadOnce = <T>(map: Map<string, Promise<T>>, id: string, load: () => Promise<T>): Promise<T> => {
    const existing = map.get(id);
    if (existing) return existing;
    const loading = load();
    map.set(id, loading);
    loading.catch(() => map.delete(id));
    return loading;
  };
  const access: ServerAccess = {
    version,
    server,
    channel: (id) =>
      loadOnce(channels, id, async () => {
        const found: ChannelDoc | null = await db.channels.findOne({ _id: id, serverId: server._id });
        return found?.kind === 'thread' && !(found.parentId && (await access.channel(found.parentId))) ? null : found;
      }),
    channels() {
      const loading =
        allChannels ??
        db.channels
          .find({ serverId: server._id, position: { $gte: 0 } })
          .sort({ position: 1 })
          .toArray()
          .then((found): ChannelDoc[] => {
            for (const one of found) channels.set(one._id, Promise.resolve(one));
            return found;
          });
      allChannels = loading;
      loading.catch(() => {
        allChannels = null;
      });
      return loading;
    },
    member: (userId) => readMember(platform, server._id, userId),
    async members(userIds) {
      const found = await readMembers(platform, [server._id], userIds);
      return new Map(found.map((one) => [one.userId, one]));
    },
    async preloadChannels(ids) {
      const read = async (wantedIds: readonly string[]): Promise<ChannelDoc[]> => {
        const unknownIds = wantedIds.filter((id) => !channels.has(id));
        return (await readByIds(db.channels, unknownIds)).filter(({ serverId }) => serverId === server._id);
      };
      const found = await read(ids);
      const threads = found.filter(({ kind }) => kind === 'thread');
      const parents = await read(threads.flatMap(({ parentId }) => parentId ?? []));
      for (const one of [...parents, ...found]) if (one.kind !== 'thread') channels.set(one._id, Promise.resolve(one));
      for (const one of threads) if (one.parentId && (await access.channel(one.parentId))) channels.set(one._id, Promise.resolve(one));
    },
    bots: () => db.members.find({ serverId: server._id, bot: true }).sort({ _id: 1 }).toArray(),
  };
  return access;
}

/**
 * Returns the access data of server `id` under `version` (from the preflight, an event or `accessVersions.read`): from the cache if it holds that version,
 * otherwise from the database. null if the server does not exist. A null version bypasses the cache.
 */
export async function loadServerAccess(platform: Platform, id: string, version: string | null): Promise<ServerAccess | null> {
  const key = `server:${id}`;
  if (version !== null) {
    const cached = platform.accessCache.get(key) as ServerAccess | undefined;
    if (cached?.version === version) return cached;
  }
  const server = await readById(platform.db.servers, id);
  if (!server) return null;
  const access = createServerAccess(platform, server, version);
  if (version !== null && platform.isRedisUp()) platform.accessCache.set(key, access);
  return access;
}

/** Returns the access data of server `id` under its current version, which is read first. */
export async function loadCurrentServerAccess(platform: Platform, id: string): Promise<ServerAccess | null> {
  const versions = await platform.accessVersions.read([id]);
  return loadServerAccess(platform, id, versions?.[0] ?? null);
}

/** A value that was read under an access version. */
interface CachedValue<T> {
  version: string;
  value: T;
}

/**
 * The value of `key`: from the cache if it was read under `version`, which must have been read before this call, otherwise from the database by `read`. Only what
 * was found is cached, and nothing without a version.
 */
export async function loadUnder<T>(
  platform: Platform,
  key: string,
  version: string | null,
  read: () => Promise<T | null>,
): Promise<T | null> {
  const cached = platform.accessCache.get(key) as CachedValue<T> | undefined;
  if (cached && cached.version === version) return cached.value;
  const value = await read();
  if (value !== null && version !== null && platform.isRedisUp())
    platform.accessCache.set(key, { version, value } satisfies CachedValue<T>);
  return value;
}

/** Returns the caller's membership of a server, from the cache if it holds the caller's access version, otherwise read. null if not a member. */
export const loadOwnMember = (
  platform: Platform,
  { id, version }: Pick<Actor, 'id' | 'version'>,
  serverId: string,
): Promise<MemberDoc | null> => loadUnder(platform, `member:${serverId}:${id}`, version, () => readMember(platform, serverId, id));

/** The overwrites that apply in `channel`. A thread uses those of its parent (docs/behavior/servers.md#calculation). */
export async function loadOverwrites(access: ServerAccess, channel: ChannelDoc): Promise<readonly Overwrite[]> {
  if (channelKinds[channel.kind].hasOverwrites || !channel.parentId) return channel.overwrites;
  return (await access.channel(channel.parentId))?.overwrites ?? [];
}

/** The permissions of `member` in `channel`. */
export async function computeChannelPermissions(access: ServerAccess, member: MemberDoc, channel: ChannelDoc): Promise<number> {
  return computePermissions(access.server, member, await loadOverwrites(access, channel));
}

/** Whether `userId` may view `channelId` of this server. Used for live events, and again in a resume (docs/delivery.md#visibility). */
export async function canView(access: ServerAccess, userId: string, channelId: string): Promise<boolean> {
  const [member, channel] = await Promise.all([access.member(userId), access.channel(channelId)]);
  return member !== null && channel !== null && hasPermission(await computeChannelPermissions(access, member, channel), 'View Channel');
}

/** A server, with the caller's membership and permissions. */
export interface ServerContext {
  readonly access: ServerAccess;
  readonly server: ServerDoc;
  readonly member: MemberDoc;
  /** The caller's permissions in the server; for `ServerChannelContext`, in the channel. */
  readonly permissions: number;
}

/** A channel, its server, and what the caller may do there. */
export interface ServerChannelContext extends ServerContext {
  readonly channel: ChannelDoc;
}

/** Refuses with `missing_permission` unless `bits` include all of `needed`. The error names those that are missing. */
export function requirePermissions(bits: number, ...needed: Permission[]): void {
  const missing = needed.filter((name) => !hasPermission(bits, name));
  if (missing.length) refuse('missing_permission', { permissions: missing.join(', ') }, { missing });
}

/** Refuses with `missing_permission` to grant `bits` that the caller does not have (docs/behavior/servers.md#granted-permissions). */
export function requireGrantable(callerBits: number, bits: number): void {
  const missing = toPermissionNames(bits & ~callerBits);
  if (missing.length) refuse('missing_permission', { permissions: missing.join(', ') }, { missing });
}

/**
 * Loads a server and checks the caller's permissions in it. Refuses with 404 if the server does not exist or the caller is not a member, and with 403
 * `missing_permission` if the caller lacks a permission of `needed`.
 */
export async function requireServer(platform: Platform, actor: Actor, serverId: string, ...needed: Permission[]): Promise<ServerContext> {
  const access = isId(serverId) ? await loadServerAccess(platform, serverId, await actor.versionOf(serverId)) : null;
  const member = access && (await loadOwnMember(platform, actor, serverId));
  if (!access || !member) return refuse('not_found', { what: 'server' });
  const permissions = computePermissions(access.server, member);
  requirePermissions(permissions, ...needed);
  return { access, server: access.server, member, permissions };
}

/** Where a channel belongs: to a server, or it is a DM. This never changes. */
export type ChannelLocation = { serverId: string; dm: null } | { serverId: null; dm: DmDoc };

/** Returns where a channel belongs, or null if the channel does not exist. */
export async function locateChannel(platform: Platform, channelId: string): Promise<ChannelLocation | null> {
  if (!isId(channelId)) return null;
  const key = `channel:${channelId}`;
  const cached = platform.accessCache.get(key) as ChannelLocation | undefined;
  if (cached) return cached;
  const found = await platform.db.channels.findOne({ _id: channelId }, { projection: { serverId: 1 } });
  const dm = found ? null : await platform.db.dms.findOne({ _id: channelId });
  const location: ChannelLocation | null = found ? { serverId: found.serverId, dm: null } : dm && { serverId: null, dm };
  if (location) platform.accessCache.set(key, location);
  return location;
}

/**
 * Loads a channel of a server and checks that the caller has View Channel and the permissions `needed`. Callers outside the server get 404, members without
 * View Channel 403 (docs/behavior/requests.md#visibility). A thread has the permissions of its parent. A DM is refused with 404.
 */
export async function requireServerChannel(
  platform: Platform,
  actor: Actor,
  channelId: string,
  ...needed: Permission[]
): Promise<ServerChannelContext> {
  const location = await locateChannel(platform, channelId);
  return requireServerChannelOf(platform, actor, location?.serverId ?? null, channelId, ...needed);
}

/** `requireServerChannel` for a channel whose server is already known. A null `serverId` is refused with 404. */
export async function requireServerChannelOf(
  platform: Platform,
  actor: Actor,
  serverId: string | null,
  channelId: string,
  ...needed: Permission[]
): Promise<ServerChannelContext> {
  const access = serverId === null ? null : await loadServerAccess(platform, serverId, await actor.versionOf(serverId));
  const [member, channel] = access
    ? await Promise.all([loadOwnMember(platform, actor, access.server._id), access.channel(channelId)])
    : [null, null];
  if (!access || !member || !channel) return refuse('not_found', { what: 'channel' });
  const permissions = await computeChannelPermissions(access, member, channel);
  requirePermissions(permissions, 'View Channel', ...(hasPermission(permissions, 'View Channel') ? needed : []));
  return { access, server: access.server, member, channel, permissions };
}

/** Returns the server of a channel if this process has it cached, otherwise null. Makes no query. Tells the preflight which version to read. */
export const getCachedServerId = (platform: Platform, channelId: string): string | null =>
  (platform.accessCache.get(`channel:${channelId}`) as ChannelLocation | undefined)?.serverId ?? null;

/** The position of `roleId`; 404 when the server has no such role. */
export function requireRolePosition(server: ServerDoc, roleId: string): number {
  const position = server.roles.findIndex((role) => role.id === roleId);
  return position < 0 ? refuse('not_found', { what: 'role' }) : position;
}
