import { refuse } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import { holds, type Overwrite, type Permission, permissionNames, permissionsOf } from '../base/permissions.ts';
import { readById, readByIds } from '../store/batched-reads.ts';
import { trusted } from '../store/database.ts';
import type { AccountDoc } from '../store/models/account.ts';
import type { DmDoc } from '../store/models/dm.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../store/models/server.ts';
import type { Platform } from '../store/platform.ts';

/** Who is asking: the account behind a credential, and the access versions that its request runs under. */
export interface Actor {
  readonly account: AccountDoc;
  readonly id: string;
  readonly bot: boolean;
  /** The access version of the account that its request runs under; null when it is not known. */
  readonly version: string | null;
  /** The access version of a server, from the gate or read now; null while Redis is away. */
  versionOf(serverId: string): Promise<string | null>;
}

/** The access data of one server under one version: the server at once, channels when they are first needed. Members are not under that version: they are read. */
export interface ServerAccess {
  /** null: read without a version (Redis away), good for one use. */
  readonly version: string | null;
  readonly server: ServerDoc;
  /** A channel or thread of this server, or null. A thread is gone with its channel, whatever of it still stands. */
  channel(id: string): Promise<ChannelDoc | null>;
  /** All its channels, threads apart, by position. */
  channels(): Promise<ChannelDoc[]>;
  /** A member, or null for whom is not in the server. */
  member(userId: string): Promise<MemberDoc | null>;
  /** Those of the accounts that are members, by account. One query. */
  members(userIds: readonly string[]): Promise<Map<string, MemberDoc>>;
  /** Loads many channels in two queries at most, so that `channel` has them at hand; the second is for the parents of threads. */
  preloadChannels(ids: readonly string[]): Promise<void>;
  /** The bots that are members. */
  bots(): Promise<MemberDoc[]>;
}

function accessOf(platform: Platform, server: ServerDoc, version: string | null): ServerAccess {
  const { db } = platform;
  const channels = new Map<string, Promise<ChannelDoc | null>>();
  let allChannels: Promise<ChannelDoc[]> | null = null;
  const once = <T>(map: Map<string, Promise<T>>, id: string, load: () => Promise<T>): Promise<T> => {
    const known = map.get(id);
    if (known) return known;
    const loading = load();
    map.set(id, loading);
    loading.catch(() => map.delete(id));
    return loading;
  };
  const access: ServerAccess = {
    version,
    server,
    channel: (id) =>
      once(channels, id, async () => {
        const found: ChannelDoc | null = await db.channels.findOne({ _id: id, serverId: server._id }).lean();
        return found?.kind === 'thread' && !(found.parentId && (await access.channel(found.parentId))) ? null : found;
      }),
    channels() {
      const loading =
        allChannels ??
        db.channels
          .find({ serverId: server._id, position: trusted({ $gte: 0 }) })
          .sort({ position: 1 })
          .lean()
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
    member: (userId) => readById(db.members, `${server._id}:${userId}`),
    async members(userIds) {
      const found = await readByIds(
        db.members,
        userIds.map((id) => `${server._id}:${id}`),
      );
      return new Map(found.map((one) => [one.userId, one]));
    },
    async preloadChannels(ids) {
      const read = async (wanted: readonly string[]): Promise<ChannelDoc[]> => {
        const found = await readByIds(
          db.channels,
          wanted.filter((id) => !channels.has(id)),
        );
        return found.filter(({ serverId }) => serverId === server._id);
      };
      const found = await read(ids);
      const threads = found.filter(({ kind }) => kind === 'thread');
      const parents = await read(threads.flatMap(({ parentId }) => parentId ?? []));
      for (const one of [...parents, ...found]) if (one.kind !== 'thread') channels.set(one._id, Promise.resolve(one));
      for (const one of threads) if (one.parentId && (await access.channel(one.parentId))) channels.set(one._id, Promise.resolve(one));
    },
    bots: async () => await db.members.find({ serverId: server._id, bot: true }).sort({ _id: 1 }).lean(),
  };
  return access;
}

/**
 * The access data of server `id` under `version` (from the gate, an event or `versions.read`): from the cache when it stands there under the same
 * version, else loaded. null when there is no such server. A null version bypasses the cache.
 */
export async function loadServer(platform: Platform, id: string, version: string | null): Promise<ServerAccess | null> {
  const key = `server:${id}`;
  if (version !== null) {
    const cached = platform.cache.get(key) as ServerAccess | undefined;
    if (cached?.version === version) return cached;
  }
  const server = await readById(platform.db.servers, id);
  if (!server) return null;
  const access = accessOf(platform, server, version);
  if (version !== null && platform.redisUp()) platform.cache.set(key, access);
  return access;
}

/** The access data of server `id` as it stands now: reads the version first. */
export async function loadServerNow(platform: Platform, id: string): Promise<ServerAccess | null> {
  const versions = await platform.versions.read([id]);
  return loadServer(platform, id, versions?.[0] ?? null);
}

/** A membership of the caller, as it is cached. */
interface CachedMember {
  version: string;
  member: MemberDoc;
}

/** The caller's membership of a server: from the cache under the caller's access version, else read. null for who is not in it. */
export async function ownMember(
  platform: Platform,
  { id, version }: Pick<Actor, 'id' | 'version'>,
  serverId: string,
): Promise<MemberDoc | null> {
  const _id = `${serverId}:${id}`;
  const key = `member:${_id}`;
  const cached = platform.cache.get(key) as CachedMember | undefined;
  if (cached && cached.version === version) return cached.member;
  const member = await readById(platform.db.members, _id);
  if (member && version !== null && platform.redisUp()) platform.cache.set(key, { version, member } satisfies CachedMember);
  return member;
}

/** The overwrites that apply in `channel`. A thread uses those of its parent (docs/behavior/servers.md#calculation). */
export async function overwritesOf(access: ServerAccess, channel: ChannelDoc): Promise<readonly Overwrite[]> {
  if (channel.kind !== 'thread' || !channel.parentId) return channel.overwrites;
  return (await access.channel(channel.parentId))?.overwrites ?? [];
}

/** The permissions of `member` in `channel`. */
export async function permissionsIn(access: ServerAccess, member: MemberDoc, channel: ChannelDoc): Promise<number> {
  return permissionsOf(access.server, member, await overwritesOf(access, channel));
}

/** Whether `userId` may view `channelId` of this server. Used for live events, and again in a resume (docs/delivery.md#visibility). */
export async function mayView(access: ServerAccess, userId: string, channelId: string): Promise<boolean> {
  const [member, channel] = await Promise.all([access.member(userId), access.channel(channelId)]);
  return member !== null && channel !== null && holds(await permissionsIn(access, member, channel), 'View Channel');
}

/** A server and the caller's place in it. */
export interface InServer {
  readonly access: ServerAccess;
  readonly server: ServerDoc;
  readonly member: MemberDoc;
  /** The caller's permissions on the server's level, or in the channel for `InChannel`. */
  readonly permissions: number;
}

/** A channel, its server, and what the caller may do there. */
export interface InChannel extends InServer {
  readonly channel: ChannelDoc;
}

/** Refuses unless `bits` hold every one of `needed`; the refusal names those that are missing. */
export function require(bits: number, ...needed: Permission[]): void {
  const missing = needed.filter((name) => !holds(bits, name));
  if (missing.length) refuse('missing_permission', { permissions: missing.join(', ') }, { missing });
}

/** Refuses to grant `bits` that the caller does not hold (docs/behavior/servers.md#granted-permissions). */
export function requireGrantable(callerBits: number, bits: number): void {
  const missing = permissionNames(bits & ~callerBits);
  if (missing.length) refuse('missing_permission', { permissions: missing.join(', ') }, { missing });
}

/**
 * The one load-and-check call for servers: `serverId` as the caller may see it, with the permissions `needed`. 404 for who is not a member, also when
 * there is no such server; 403 `missing_permission`.
 */
export async function inServer(platform: Platform, actor: Actor, serverId: string, ...needed: Permission[]): Promise<InServer> {
  const access = isId(serverId) ? await loadServer(platform, serverId, await actor.versionOf(serverId)) : null;
  const member = access && (await ownMember(platform, actor, serverId));
  if (!access || !member) return refuse('not_found', { what: 'server' });
  const permissions = permissionsOf(access.server, member);
  require(permissions, ...needed);
  return { access, server: access.server, member, permissions };
}

/** Where a channel belongs, which never changes: to a server, or it is a DM. */
export type ChannelHome = { serverId: string; dm: null } | { serverId: null; dm: DmDoc };

/** The home of a channel; null when there is no such channel. */
export async function homeOfChannel(platform: Platform, channelId: string): Promise<ChannelHome | null> {
  if (!isId(channelId)) return null;
  const key = `channel:${channelId}`;
  const known = platform.cache.get(key) as ChannelHome | undefined;
  if (known) return known;
  const found = await platform.db.channels.findOne({ _id: channelId }, { serverId: 1 }).lean();
  const dm = found ? null : await platform.db.dms.findOne({ _id: channelId }).lean();
  const home: ChannelHome | null = found ? { serverId: found.serverId, dm: null } : dm && { serverId: null, dm };
  if (home) platform.cache.set(key, home);
  return home;
}

/**
 * Loads and checks a channel of a server: `channelId` with View Channel and the permissions `needed`. Callers outside its server get 404, members without
 * View Channel 403 (docs/behavior/requests.md#visibility). A thread is checked by its parent. A DM is not found.
 */
export async function inChannel(platform: Platform, actor: Actor, channelId: string, ...needed: Permission[]): Promise<InChannel> {
  const home = await homeOfChannel(platform, channelId);
  return inChannelOf(platform, actor, home?.serverId ?? null, channelId, ...needed);
}

/** `inChannel` where the channel's server is known; null is none. */
export async function inChannelOf(
  platform: Platform,
  actor: Actor,
  serverId: string | null,
  channelId: string,
  ...needed: Permission[]
): Promise<InChannel> {
  const access = serverId === null ? null : await loadServer(platform, serverId, await actor.versionOf(serverId));
  const [member, channel] = access
    ? await Promise.all([ownMember(platform, actor, access.server._id), access.channel(channelId)])
    : [null, null];
  if (!access || !member || !channel) return refuse('not_found', { what: 'channel' });
  const permissions = await permissionsIn(access, member, channel);
  require(permissions, 'View Channel', ...(holds(permissions, 'View Channel') ? needed : []));
  return { access, server: access.server, member, channel, permissions };
}

/** The server of a channel when this process has seen it, without a query: tells which version to ask for. */
export const serverOfChannelHint = (platform: Platform, channelId: string): string | null =>
  (platform.cache.get(`channel:${channelId}`) as ChannelHome | undefined)?.serverId ?? null;
