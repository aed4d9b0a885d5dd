import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { type MemberRules, rankOf } from '../../base/permissions.ts';
import type { Member } from '../../contract/server.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { MemberDoc, RoleDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { connectedOf, seenStatusOf } from '../accounts/presence.ts';
import { accountsOf, authorOf } from '../accounts/public-profiles.ts';
import { writeAudit } from '../servers/audit.ts';
import { roleIdsOf } from '../servers/server-view.ts';
import { type Actor, type InServer, inServer } from './access.ts';
import { type Expelled, expel, requireBelow } from './expulsion.ts';
import { changeMemberRole } from './membership.ts';
import { announceRemoval, noticeOf } from './notices.ts';
import { positionOf } from './roles.ts';

/** How many accounts one call to the store reads. */
const batch = 1_000;

/** A member as others see it: offline unless connected, and offline if invisible (docs/behavior/accounts.md#presence). */
export function memberOf(server: ServerDoc, member: MemberRules, account: AccountDoc, connected: boolean): Member {
  return {
    user: authorOf(account),
    status: seenStatusOf(account, connected),
    customStatus: account.customStatus,
    isOwner: server.ownerId === member.userId,
    roles: roleIdsOf(server, member),
  };
}

/** Members as others see them, in the given order, without those whose account no longer exists. */
export async function membersOf(platform: Platform, server: ServerDoc, members: readonly MemberRules[]): Promise<Member[]> {
  const shown: Member[] = [];
  for (let start = 0; start < members.length; start += batch) {
    const part = members.slice(start, start + batch);
    const ids = part.map((one) => one.userId);
    const [accounts, connected] = await Promise.all([accountsOf(platform, ids), connectedOf(platform, ids)]);
    for (const one of part) {
      const account = accounts.get(one.userId);
      if (account) shown.push(memberOf(server, one, account, connected.has(one.userId)));
    }
  }
  return shown;
}

/** The member `userId` of a server; 404 if there is none. */
async function memberIn({ access }: InServer, userId: string): Promise<MemberDoc> {
  return (isId(userId) ? await access.member(userId) : null) ?? refuse('not_found', { what: 'member' });
}

/** One member. */
export async function getMember(platform: Platform, actor: Actor, serverId: string, userId: string): Promise<Member> {
  const place = await inServer(platform, actor, serverId);
  const [shown] = await membersOf(platform, place.server, [await memberIn(place, userId)]);
  return shown ?? refuse('not_found', { what: 'member' });
}

/** Requires the role to be below the caller's highest. `@everyone` and a bot's own role are 400 (docs/behavior/servers.md#member-roles). */
function requireAssignable({ server, member }: InServer, roleId: string): void {
  const position = positionOf(server, roleId);
  const role = server.roles[position] as RoleDoc;
  if (position === 0) refuse('invalid_request', { reason: '@everyone cannot be given or taken: every member has it' });
  if (role.botId !== null) refuse('invalid_request', { reason: 'a bot’s own role cannot be given or taken' });
  if (position >= rankOf(server, member)) refuse('role_hierarchy');
}

/** Gives a member a role, or takes it away. Repeating it changes nothing. Needs Manage Roles. */
export async function setMemberRole(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string,
  target: { userId: string; roleId: string; has: boolean },
): Promise<void> {
  const place = await inServer(platform, actor, serverId, 'Manage Roles');
  const { userId, roleId, has } = target;
  await memberIn(place, userId);
  requireAssignable(place, roleId);
  const end = await changeMemberRole(platform, { serverId, userId, roleId, has });
  if (end === 'gone') refuse('not_found', { what: 'member' });
  if (end === 'same') return;
  const changes = { roles: has ? { from: null, to: roleId } : { from: roleId, to: null } };
  const action = has ? 'member_role_add' : 'member_role_remove';
  await writeAudit(platform, actor, { serverId, action, targetId: userId, changes });
}

/**
 * Kicks a member whose highest role is below the caller's. A person is notified; a bot is not. Needs Kick Members. Refuses the caller themselves (400), and the
 * owner and members not below the caller (`role_hierarchy`).
 */
export async function kickMember(platform: EnqueuePlatform, actor: Actor, serverId: string, userId: string): Promise<void> {
  const place = await inServer(platform, actor, serverId, 'Kick Members');
  const target = await memberIn(place, userId);
  requireBelow(place, userId, target);
  let end = 'gone' as Expelled;
  const remove = async (): Promise<boolean> => {
    end = await expel(platform, serverId, userId);
    return end === 'out';
  };
  const notice = target.bot ? null : noticeOf(platform, { kind: 'kick', userId, server: place.server });
  if (await (notice ? announceRemoval(platform, notice, remove) : remove())) {
    await writeAudit(platform, actor, { serverId, action: 'member_kick', targetId: userId });
    return;
  }
  if (end === 'owner') refuse('role_hierarchy');
  refuse('not_found', { what: 'member' });
}

/** Removes the caller from a server. Refuses the owner (400), who must transfer or delete the server first. */
export async function leaveServer(platform: EnqueuePlatform, actor: Actor, serverId: string): Promise<void> {
  const { server } = await inServer(platform, actor, serverId);
  const end = server.ownerId === actor.id ? 'owner' : await expel(platform, serverId, actor.id);
  if (end === 'owner') refuse('invalid_request', { reason: 'the owner cannot leave the server; transfer or delete it first' });
  if (end === 'gone') refuse('not_found', { what: 'server' });
}
