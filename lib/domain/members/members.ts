import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { toParts } from '../../base/parts.ts';
import { computeRank, type MemberRules } from '../../base/permissions.ts';
import type { Member } from '../../contract/member.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { MemberDoc, RoleDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { ApiPlatform, EnqueuePlatform, Platform } from '../../store/platform.ts';
import { writeAudit } from '../access/audit.ts';
import { type Actor, requireRolePosition, requireServer, type ServerContext } from '../access/checks.ts';
import { countMemberViewChange } from '../access/creation-rates.ts';
import { loadAccounts, toAuthor } from '../views/accounts.ts';
import { loadConnected, toVisibleStatus } from '../views/presence.ts';
import { toRoleIds } from '../views/servers.ts';
import { changeMemberRole } from './changes.ts';
import { newNotice, removeWithNotice } from './notices.ts';
import { type RemovalOutcome, removeUnlessOwner, requireLowerRank } from './removal.ts';

/** How many accounts one call to the store reads. */
const batchSize = 1_000;

/** A member as others see it: offline unless connected, and offline if invisible (docs/behavior/accounts.md#presence). */
export function toMember(server: ServerDoc, member: MemberRules, account: AccountDoc, connected: boolean): Member {
  return {
    user: toAuthor(account),
    status: toVisibleStatus(account, connected),
    customStatus: account.customStatus,
    isOwner: server.ownerId === member.userId,
    roles: toRoleIds(server, member),
  };
}

/** Members as others see them, in the given order, without those whose account no longer exists. */
export async function toMembers(platform: Platform, server: ServerDoc, members: readonly MemberRules[]): Promise<Member[]> {
  const shown: Member[] = [];
  for (const part of toParts(members, batchSize)) {
    const ids = part.map((one) => one.userId);
    const [accounts, connected] = await Promise.all([loadAccounts(platform, ids), loadConnected(platform, ids)]);
    for (const one of part) {
      const account = accounts.get(one.userId);
      if (account) shown.push(toMember(server, one, account, connected.has(one.userId)));
    }
  }
  return shown;
}

/** The member `userId` of a server; 404 if there is none. */
async function requireMember({ access }: ServerContext, userId: string): Promise<MemberDoc> {
  return (isId(userId) ? await access.member(userId) : null) ?? refuse('not_found', { what: 'member' });
}

/** One member. */
export async function getMember(platform: Platform, actor: Actor, serverId: string, userId: string): Promise<Member> {
  const context = await requireServer(platform, actor, serverId);
  const [shown] = await toMembers(platform, context.server, [await requireMember(context, userId)]);
  return shown ?? refuse('not_found', { what: 'member' });
}

/** Requires the role to be below the caller's highest. `@everyone` and a bot's own role are 400 (docs/behavior/servers.md#member-roles). */
function requireAssignable({ server, member }: ServerContext, roleId: string): void {
  const position = requireRolePosition(server, roleId);
  const role = server.roles[position] as RoleDoc;
  if (position === 0) refuse('invalid_request', { reason: '@everyone cannot be assigned or removed, because every member has it' });
  if (role.botId !== null) refuse('invalid_request', { reason: 'a bot’s own role cannot be assigned or removed' });
  if (position >= computeRank(server, member)) refuse('role_hierarchy');
}

/** Gives a member a role, or takes it away. Repeating it changes nothing. Needs Manage Roles. */
export async function setMemberRole(
  platform: ApiPlatform,
  actor: Actor,
  serverId: string,
  change: { userId: string; roleId: string; hasRole: boolean },
): Promise<void> {
  const context = await requireServer(platform, actor, serverId, 'Manage Roles');
  const { userId, roleId, hasRole } = change;
  const target = await requireMember(context, userId);
  requireAssignable(context, roleId);
  if (target.roles.includes(roleId) !== hasRole) await countMemberViewChange(platform, actor, context.access, change);
  const outcome = await changeMemberRole(platform, { serverId, userId, roleId, hasRole });
  if (outcome === 'not-member') refuse('not_found', { what: 'member' });
  if (outcome === 'unchanged') return;
  const changes = { roles: hasRole ? { from: null, to: roleId } : { from: roleId, to: null } };
  const action = hasRole ? 'member_role_add' : 'member_role_remove';
  await writeAudit(platform, actor, { serverId, action, targetId: userId, changes });
}

/**
 * Kicks a member whose highest role is below the caller's. A person is notified; a bot is not. Needs Kick Members. Refuses the caller themselves (400), and the
 * owner and members not below the caller (`role_hierarchy`).
 */
export async function kickMember(platform: EnqueuePlatform, actor: Actor, serverId: string, userId: string): Promise<void> {
  const context = await requireServer(platform, actor, serverId, 'Kick Members');
  const target = await requireMember(context, userId);
  requireLowerRank(context, userId, target);
  let outcome = 'not-member' as RemovalOutcome;
  const remove = async (): Promise<boolean> => {
    outcome = await removeUnlessOwner(platform, serverId, userId);
    return outcome === 'removed';
  };
  const notice = target.bot ? null : newNotice(platform, { kind: 'kick', userId, server: context.server });
  if (await (notice ? removeWithNotice(platform, notice, remove) : remove())) {
    await writeAudit(platform, actor, { serverId, action: 'member_kick', targetId: userId });
    return;
  }
  if (outcome === 'owner') refuse('role_hierarchy');
  refuse('not_found', { what: 'member' });
}

/** Removes the caller from a server. Refuses the owner (400), who must transfer or delete the server first. */
export async function leaveServer(platform: EnqueuePlatform, actor: Actor, serverId: string): Promise<void> {
  const { server } = await requireServer(platform, actor, serverId);
  const outcome = server.ownerId === actor.id ? 'owner' : await removeUnlessOwner(platform, serverId, actor.id);
  if (outcome === 'owner') refuse('invalid_request', { reason: 'the owner cannot leave the server; transfer or delete it first' });
  if (outcome === 'not-member') refuse('not_found', { what: 'server' });
}
