import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { type Badge, badges, type Profile, type ProfileQuery } from '../../contract/user.ts';
import { exists } from '../../store/mongo/database.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import { type MemberDoc, type ServerDoc, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { findAllServerIds } from '../access/memberships.ts';
import { findDm } from '../channels/dms.ts';
import { getTag, loadAccounts } from '../views/accounts.ts';
import { loadConnected, toVisibleStatus } from '../views/presence.ts';

/** The conditions of a person's badges (docs/behavior/accounts.md#badges), checked each time. `servers` are those that the person owns or is in. */
const badgeConditions: Record<Badge, (person: AccountDoc, servers: readonly ServerDoc[]) => boolean> = {
  staff: (_person, servers) => servers.some(({ types }) => types.includes('staff')),
  developer: (_person, servers) => servers.some(({ types }) => types.includes('developer')),
  partner: ({ _id }, servers) => servers.some(({ ownerId, types }) => ownerId === _id && types.includes('partnered')),
  verified_server_owner: ({ _id }, servers) => servers.some(({ ownerId, types }) => ownerId === _id && types.includes('verified')),
  early_access: ({ earlyAccess = false }) => earlyAccess,
};

/** An account's badges, in the order of docs/behavior/accounts.md#badges. Bots have none: they own no server, and are never staff or developer. */
const computeBadges = (account: AccountDoc, servers: readonly ServerDoc[]): Badge[] =>
  account.kind === 'person' ? badges.filter((badge) => badgeConditions[badge](account, servers)) : [];

/**
 * `mutual`: the servers that both the account and the caller are in. `servers`: for a person all servers that it is in, for a bot the mutual ones.
 * `findMembership`: the account's membership.
 */
interface SharedServers {
  mutual: readonly ServerDoc[];
  servers: readonly ServerDoc[];
  findMembership: (serverId: string) => MemberDoc | undefined;
}

/** Starts from the servers of whichever is in fewer: a person is in at most 100, a bot in any number. */
async function findSharedServers(platform: Platform, account: AccountDoc, callerId: string): Promise<SharedServers> {
  const isBot = account.kind === 'bot';
  const [fewer, other] = isBot ? [callerId, account._id] : [account._id, callerId];
  const serverIds = await findAllServerIds(platform, fewer);
  const keys = toMemberKeys(serverIds, [...new Set([fewer, other])]);
  const members = await platform.db.members.find(keys, { projection: { serverId: 1, userId: 1, joinedAt: 1 } }).toArray();
  const own = members.filter(({ userId }) => userId === fewer);
  const ownIds = new Set(own.map(({ serverId }) => serverId));
  const shared = members.filter(({ userId, serverId }) => userId === other && ownIds.has(serverId));
  const sharedIds = new Set(shared.map(({ serverId }) => serverId));
  const $in = (isBot ? shared : own).map(({ serverId }) => serverId);
  const servers = await platform.db.servers.find({ _id: { $in } }).sort({ _id: 1 }).limit(limits.serversPerPerson).toArray();
  return {
    servers,
    mutual: servers.filter(({ _id }) => sharedIds.has(_id)),
    findMembership: (serverId) => (isBot ? shared : own).find((one) => one.serverId === serverId),
  };
}

/** Whether an account is the bot of an application of the caller. */
const ownsBot = ({ db }: Platform, actor: Actor, { applicationId }: AccountDoc): Promise<boolean> =>
  applicationId ? exists(db.applications, { _id: applicationId, ownerId: actor.id }) : Promise.resolve(false);

/**
 * The profile of the caller, of the caller's own bot, or of an account that shares a server or has a DM with the caller. 404 for all other ids. With a `serverId` of a server that both
 * are in, it says when the account joined that server. The status is the one that others see.
 */
export async function getProfile(platform: Platform, actor: Actor, userId: string, { serverId }: ProfileQuery): Promise<Profile> {
  const account = isId(userId) ? (await loadAccounts(platform, [userId], [actor.account])).get(userId) : undefined;
  if (!account) return refuse('not_found', { what: 'user' });
  const [{ mutual, servers, findMembership }, connected] = await Promise.all([
    findSharedServers(platform, account, actor.id),
    loadConnected(platform, [userId]),
  ]);
  if (
    userId !== actor.id &&
    mutual.length === 0 &&
    !(await ownsBot(platform, actor, account)) &&
    !(await findDm(platform, actor.id, userId))
  )
    refuse('not_found', { what: 'user' });
  const joinedAt = mutual.some(({ _id }) => _id === serverId) ? findMembership(serverId as string)?.joinedAt : undefined;
  const { username, displayName, customStatus, bio = null, pronouns = null, createdAt } = account;
  return {
    user: { id: userId, username, displayName, status: toVisibleStatus(account, connected.has(userId)), customStatus },
    bio,
    pronouns,
    createdAt: createdAt.toISOString(),
    mutualServers: mutual.map(({ _id, name, iconUrl }) => ({ id: _id, name, iconUrl })),
    badges: computeBadges(account, servers),
    tag: getTag(account),
    ...(joinedAt ? { serverJoinedAt: joinedAt.toISOString() } : {}),
  };
}
