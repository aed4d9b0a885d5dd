import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { type Badge, badges, type Profile, type ProfileQuery } from '../../contract/user.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { MemberDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { findDm } from '../channels/dms.ts';
import type { Actor } from '../members/access.ts';
import { connectedOf, seenStatusOf } from './presence.ts';
import { accountsOf, tagOf } from './public-profiles.ts';

/** The conditions of a person's badges (docs/behavior/accounts.md#badges), checked each time. `servers` are those that the person owns or is in. */
const earned: Record<Badge, (person: AccountDoc, servers: readonly ServerDoc[]) => boolean> = {
  staff: (_person, servers) => servers.some(({ types }) => types.includes('staff')),
  developer: (_person, servers) => servers.some(({ types }) => types.includes('developer')),
  partner: ({ _id }, servers) => servers.some(({ ownerId, types }) => ownerId === _id && types.includes('partnered')),
  verified_server_owner: ({ _id }, servers) => servers.some(({ ownerId, types }) => ownerId === _id && types.includes('verified')),
  early_access: ({ earlyAccess = false }) => earlyAccess,
};

/** An account's badges, in the order of docs/behavior/accounts.md#badges. Bots have none: they own no server, and are never staff or developer. */
const badgesOf = (account: AccountDoc, servers: readonly ServerDoc[]): Badge[] =>
  account.kind === 'person' ? badges.filter((badge) => earned[badge](account, servers)) : [];

/**
 * `mutual`: the servers that both the account and the caller are in. `servers`: for a person all servers that it is in, for a bot the mutual ones. `memberOf`:
 * the account's membership.
 */
interface Common {
  mutual: readonly ServerDoc[];
  servers: readonly ServerDoc[];
  memberOf: (serverId: string) => MemberDoc | undefined;
}

/** Starts from the servers of whichever is in fewer: a person is in at most 100, a bot in any number. */
async function inCommon({ db }: Platform, account: AccountDoc, callerId: string): Promise<Common> {
  const isBot = account.kind === 'bot';
  const [fewer, other] = isBot ? [callerId, account._id] : [account._id, callerId];
  const own = await db.members.find({ userId: fewer }).lean();
  const both = await db.members.find({ _id: trusted({ $in: own.map(({ serverId }) => `${serverId}:${other}`) }) }).lean();
  const shared = new Set(both.map(({ serverId }) => serverId));
  const $in = (isBot ? both : own).map(({ serverId }) => serverId);
  const servers = await db.servers
    .find({ _id: trusted({ $in }) })
    .sort({ _id: 1 })
    .limit(limits.serversPerPerson)
    .lean();
  return {
    servers,
    mutual: servers.filter(({ _id }) => shared.has(_id)),
    memberOf: (serverId) => (isBot ? both : own).find((one) => one.serverId === serverId),
  };
}

/**
 * The profile of the caller, or of an account that shares a server or has a DM with the caller. 404 for all other ids. With a `serverId` of a server that both
 * are in, it says when the account joined that server. The status is the one that others see.
 */
export async function getProfile(platform: Platform, actor: Actor, userId: string, { serverId }: ProfileQuery): Promise<Profile> {
  const account = isId(userId) ? (await accountsOf(platform, [userId], [actor.account])).get(userId) : undefined;
  if (!account) return refuse('not_found', { what: 'user' });
  const [{ mutual, servers, memberOf }, connected] = await Promise.all([
    inCommon(platform, account, actor.id),
    connectedOf(platform, [userId]),
  ]);
  if (userId !== actor.id && mutual.length === 0 && !(await findDm(platform, actor.id, userId))) refuse('not_found', { what: 'user' });
  const joinedAt = mutual.some(({ _id }) => _id === serverId) ? memberOf(serverId as string)?.joinedAt : undefined;
  const { username, displayName, customStatus, bio = null, pronouns = null, createdAt } = account;
  return {
    user: { id: userId, username, displayName, status: seenStatusOf(account, connected.has(userId)), customStatus },
    bio,
    pronouns,
    createdAt: createdAt.toISOString(),
    mutualServers: mutual.map(({ _id, name, iconUrl }) => ({ id: _id, name, iconUrl })),
    badges: badgesOf(account, servers),
    tag: tagOf(account),
    ...(joinedAt ? { serverJoinedAt: joinedAt.toISOString() } : {}),
  };
}
