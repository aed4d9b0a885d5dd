import { refuse } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { exists } from '../../store/mongo/database.ts';
import { type MemberDoc, toMemberKey } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { addMember, claimMembership, deleteMemberships, findUnconfirmed, markUncertain } from '../access/memberships.ts';
import { changeServerCounts } from '../counts/bot-servers.ts';
import { sweepRecounts } from '../counts/recounts.ts';
import { addEvent, addEventToEach, newOutbox, outboxHasRoom, requireOutboxRoom } from '../events/pending.ts';
import { findShownRole } from '../views/servers.ts';
import { writeMemberNames } from './names.ts';

/** A new member without roles, with the pending event of the join. Its names are written later. Call it inside the change of the server. */
export function newMember(platform: Platform, serverId: string, userId: string, bot: boolean): MemberDoc {
  const pendingEvent = newOutbox(platform, { name: 'MEMBER_ADD' as const });
  return {
    _id: `${serverId}:${userId}`,
    serverId,
    userId,
    bot,
    roles: [],
    joinedAt: new Date(platform.now()),
    joinId: pendingEvent.outbox[0]?.id ?? '',
    renameId: platform.ids.next(),
    ...pendingEvent,
  };
}

/**
 * The update of a server when a member joined or left: it changes the count at once and marks it for a recount, which corrects the count if a process dies in
 * between.
 */
const memberCountUpdate = (platform: Platform, delta: 1 | -1): { $inc: { memberCount: number }; $set: { recountAt: Date } } => ({
  $inc: { memberCount: delta },
  $set: { recountAt: new Date(platform.now()) },
});

/**
 * Completes a join: counts the member and writes its names. If the server was deleted or the account banned at the same moment, it removes the member again,
 * with a bot's own role, and refuses with 404 `what` or `banned`.
 */
export async function finishJoin(platform: EnqueuePlatform, member: MemberDoc, what: string): Promise<void> {
  const { serverId, userId } = member;
  const { matchedCount } = await platform.db.servers.updateOne({ _id: serverId }, memberCountUpdate(platform, 1));
  if (member.bot) await changeServerCounts(platform, [userId], 1);
  await writeMemberNames(platform, member);
  const banned = await exists(platform.db.bans, toMemberKey(serverId, userId));
  if (matchedCount === 1 && !banned) return;
  await removeMember(platform, serverId, userId, Number.POSITIVE_INFINITY);
  if (banned) refuse('banned');
  refuse('not_found', { what });
}

/** Adds a person to a server; false if they are a member already. Refuses with `too_many_servers`. */
export async function addPerson(platform: EnqueuePlatform, serverId: string, userId: string): Promise<boolean> {
  const outcome = await platform.accessVersions.runChange({ members: [[serverId, userId]] }, async () => {
    const member = newMember(platform, serverId, userId, false);
    const added = await addMember(platform, member);
    if (added === 'added') await finishJoin(platform, member, 'invite');
    return added;
  });
  if (outcome === 'full') return refuse('too_many_servers', { limit: limits.serversPerPerson });
  platform.wake('relay-server', { serverId });
  return outcome === 'added';
}

/**
 * Removes an account from a server, with its own role if it is a bot (docs/behavior/servers.md#bot-role). False if it is not a member. The event is added to the
 * server's outbox before the member is deleted. If the process dies in between, the relay deletes the member and its membership before it relays the event
 * (docs/store.md#members-and-memberships). The member is deleted before the membership, the count and the role are updated, so access ends at once. Refuses with
 * `unavailable` if the server has `maxPendingEvents` pending events.
 */
export async function removeMember(
  platform: EnqueuePlatform,
  serverId: string,
  userId: string,
  maxPendingEvents: number = limits.pendingEvents,
): Promise<boolean> {
  const { members, servers } = platform.db;
  const key = toMemberKey(serverId, userId);
  const existing = await members.findOne(key);
  if (!existing) return false;
  if (existing.bot) await changeServerCounts(platform, [userId], 0);
  const { joinedAt } = existing;
  const roomFilter = maxPendingEvents === limits.pendingEvents ? outboxHasRoom : {};
  // Removing a bot also removes its own role, which changes the access rules of the server.
  const changedServers = existing.bot ? { servers: [serverId] } : {};
  const removed = await platform.accessVersions.runChange({ ...changedServers, members: [[serverId, userId]] }, async () => {
    const pendingEvent = addEvent(platform, { name: 'MEMBER_REMOVE', data: { userId, joinedAt } });
    const { matchedCount } = await servers.updateOne({ _id: serverId, ...roomFilter }, pendingEvent);
    if (matchedCount === 0) {
      requireOutboxRoom((await servers.findOne({ _id: serverId }, { projection: { outbox: 1 } }))?.outbox, maxPendingEvents);
      await markUncertain(platform, existing); // the server is deleted, so nothing is relayed
    }
    failpoint(platform.config, 'after-departure-intent');
    const member = await members.findOneAndDelete({ ...key, joinedAt });
    failpoint(platform.config, 'after-departure');
    if (!member) return false;
    await deleteMemberships(platform, [member]);
    await servers.updateOne({ _id: serverId }, memberCountUpdate(platform, -1));
    if (member.bot) {
      await changeServerCounts(platform, [userId], -1);
      await deleteBotRole(platform, serverId, userId);
    }
    return true;
  });
  platform.wake('relay-server', { serverId });
  return removed;
}

/** Finishes removals whose events are about to be relayed, in case the processes that began them died: deletes the members and their memberships. */
export async function finishRemovals(
  platform: EnqueuePlatform,
  serverId: string,
  removed: readonly { serverId: string; userId: string; joinedAt: Date }[],
): Promise<void> {
  if (removed.length === 0) return;
  const { members } = platform.db;
  for (const { userId, joinedAt } of removed) await members.deleteOne({ ...toMemberKey(serverId, userId), joinedAt });
  await deleteMemberships(platform, removed);
  await changeServerCounts(
    platform,
    removed.map(({ userId }) => userId),
    0,
  );
}

/**
 * Makes sure that members of a server whose join is about to be relayed have a membership, so that a later connect does not miss their server: a removal or a sweep that
 * ran at the same moment as the join may have deleted it. Removes a person who is in 100 other servers by now.
 */
export async function confirmMemberships(platform: EnqueuePlatform, serverId: string, members: readonly MemberDoc[]): Promise<void> {
  for (const member of await findUnconfirmed(platform, serverId, members))
    if (!(await claimMembership(platform, member))) await removeMember(platform, serverId, member.userId, Number.POSITIVE_INFINITY);
}

/** Removes a bot's own role from the server, and the overwrites for the role and the bot from its channels. */
async function deleteBotRole(platform: Platform, serverId: string, botId: string): Promise<void> {
  const { servers } = platform.db;
  const server = await servers.findOne({ _id: serverId });
  const ownRoles = server?.roles.flatMap((role) => (role.botId === botId ? (findShownRole(server, role.id) ?? []) : [])) ?? [];
  for (const role of ownRoles) {
    const { id, permissions } = role;
    // `shifted` begins at position 1, because another request may have moved the role before it was removed.
    const event = addEvent(platform, {
      name: 'ROLE_DELETE',
      data: { roleId: id, role },
      was: { role: { id, permissions } },
      shifted: { from: 1 },
    });
    await servers.updateOne({ _id: serverId, 'roles.id': id }, { $pull: { roles: { id } }, $inc: { rolesVersion: 1 }, ...event });
  }
  await removeOverwrites(platform, serverId, [botId, ...ownRoles.map((role) => role.id)]);
}

/**
 * Removes the overwrites of deleted roles, or of a bot that left, from the channels of a server. The events keep the old overwrites, so that everyone who could
 * view a channel with them is notified.
 */
export async function removeOverwrites(platform: Platform, serverId: string, ids: readonly string[]): Promise<void> {
  const isRemoved = { $in: ['$$one.id', { $literal: ids }] };
  const overwrites = { $filter: { input: '$overwrites', as: 'one', cond: { $not: [isRemoved] } } };
  const pendingEvent = addEventToEach(platform, { name: 'CHANNEL_UPDATE', was: { overwrites: '$overwrites' } });
  await platform.db.channels.updateMany({ serverId, 'overwrites.id': { $in: ids } }, [{ $set: { overwrites, ...pendingEvent } }]);
}

/**
 * Gives a member a role, or takes it away, and adds the event to the outbox. Returns `changed`; `unchanged` if nothing changed; `not-member` if there is no
 * such member. Refuses with `unavailable` if the member has 1,000 pending events.
 */
export async function changeMemberRole(
  platform: EnqueuePlatform,
  { serverId, userId, roleId, hasRole }: { serverId: string; userId: string; roleId: string; hasRole: boolean },
): Promise<'changed' | 'unchanged' | 'not-member'> {
  const { members } = platform.db;
  const key = toMemberKey(serverId, userId);
  const unchangedFilter = { roles: hasRole ? { $ne: roleId } : roleId, ...outboxHasRoom };
  const { modifiedCount } = await platform.accessVersions.runChange({ members: [[serverId, userId]] }, () => {
    const { $push, $min } = addEvent(platform, { name: 'MEMBER_UPDATE', was: { given: { roleId, has: hasRole } } });
    const change = hasRole ? { $push: { roles: roleId, ...$push } } : { $pull: { roles: roleId }, $push };
    return members.updateOne({ ...key, ...unchangedFilter }, { ...change, $min });
  });
  if (modifiedCount === 0) {
    const member = await members.findOne(key);
    if (member && member.roles.includes(roleId) !== hasRole) requireOutboxRoom(member.outbox);
    return member ? 'unchanged' : 'not-member';
  }
  platform.wake('relay-server', { serverId });
  return 'changed';
}

/** Recounts the members of servers where members joined or left and nothing has changed for a second. */
export const recountMembers = sweepRecounts(
  'servers',
  'memberCount',
  async ({ db }, serverId, maxTimeMS) => await db.members.countDocuments({ serverId }, { maxTimeMS }),
);
