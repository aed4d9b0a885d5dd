import { refuse } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { exists } from '../../store/mongo/database.ts';
import type { OutboxEntry, ServerEvent } from '../../store/mongo/models/outbox.ts';
import { type MemberDoc, toMemberKey } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { serverPlace } from '../../store/redis/log/keys.ts';
import { changeServerCounts } from '../applications/app-directory.ts';
import { isAnnounced } from '../events/outbox-source.ts';
import { addEvent, addEventToEach, createEntry, outboxHasRoom, requireOutboxRoom } from '../events/pending-events.ts';
import { recountDueDocuments } from '../servers/recounts.ts';
import { writeMemberNames } from './member-names.ts';
import { addMember, claimMembership, deleteMemberships, findUnconfirmed, markUncertain } from './memberships.ts';

/**
 * A new member without roles, with the pending events of the join. Its names are written later. Refuses with `unavailable` while Redis does not answer: without
 * the number of the join, sessions of the account could not tell which events of the server come after it.
 */
export async function newMember(platform: Platform, serverId: string, userId: string, bot: boolean): Promise<MemberDoc> {
  const joinNumber = await platform.readLastNumber(serverPlace(serverId));
  if (joinNumber === null) return refuse('unavailable');
  return {
    _id: `${serverId}:${userId}`,
    serverId,
    userId,
    bot,
    roles: [],
    joinedAt: new Date(platform.now()),
    joinNumber,
    renameId: platform.ids.next(),
    outbox: [createEntry(platform, { name: 'SERVER_CREATE', data: { from: joinNumber } }), createEntry(platform, { name: 'MEMBER_ADD' })],
    outboxAt: new Date(platform.now()),
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
  platform.wake('relay-server', { serverId });
  if (matchedCount === 1 && !banned) return;
  await removeMember(platform, serverId, userId, Number.POSITIVE_INFINITY);
  if (banned) refuse('banned');
  refuse('not_found', { what });
}

/**
 * Adds a person to a server; false if they are a member already. Refuses with `too_many_servers`. Call it inside `accessVersions.runChange` of the membership.
 */
export async function addPerson(platform: EnqueuePlatform, serverId: string, userId: string): Promise<boolean> {
  const member = await newMember(platform, serverId, userId, false);
  const outcome = await addMember(platform, member);
  if (outcome === 'full') return refuse('too_many_servers', { limit: limits.serversPerPerson });
  if (outcome === 'exists') return false;
  await finishJoin(platform, member, 'invite');
  return true;
}

/** The event for the end of a membership. One membership always gets the same entry, so the event is sent once, however many removals run. */
const newDepartureEntry = ({ serverId, userId, joinedAt }: MemberDoc, at: Date): OutboxEntry<ServerEvent> => ({
  id: `left-${serverId}-${userId}-${joinedAt.getTime()}`,
  name: 'MEMBER_REMOVE',
  data: { userId, joinedAt, at },
});

/**
 * Removes an account from a server, with its own role if it is a bot (docs/behavior/servers.md#bot-role). False if it is not a member. The remaining members
 * and the account get the event even after a crash: the entry is added to the server's outbox before the member is deleted, and a worker relays it only after
 * that. The member is deleted before the membership, the count and the role are updated, so access ends at once. If the process dies in between, the relay
 * deletes the membership (docs/store.md#members-and-memberships). Refuses with `unavailable` if the server has `maxPendingEvents` pending events.
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
  const now = new Date(platform.now());
  const entry = newDepartureEntry(existing, now);
  const pendingEvent = { $addToSet: { outbox: entry }, $min: { outboxAt: now } };
  const roomFilter = maxPendingEvents === limits.pendingEvents ? outboxHasRoom : {};
  // Removing a bot also removes its own role, which changes the access rules of the server.
  const changedServers = existing.bot ? { servers: [serverId] } : {};
  const removed = await platform.accessVersions.runChange({ ...changedServers, members: [[serverId, userId]] }, async () => {
    const { matchedCount } = await servers.updateOne({ _id: serverId, ...roomFilter }, pendingEvent);
    if (matchedCount === 0) {
      requireOutboxRoom((await servers.findOne({ _id: serverId }, { projection: { outbox: 1 } }))?.outbox, maxPendingEvents);
      await markUncertain(platform, existing); // the server is deleted, so nothing is relayed
    }
    failpoint(platform.config, 'after-departure-intent');
    const member = await members.findOneAndDelete({ ...key, joinedAt: existing.joinedAt });
    failpoint(platform.config, 'after-departure');
    if (!member) return false;
    await deleteMemberships(platform, [member]);
    // A worker may have deleted the entry before the membership was deleted, so it is added again.
    await servers.updateOne({ _id: serverId }, { ...memberCountUpdate(platform, -1), ...pendingEvent });
    if (member.bot) {
      await changeServerCounts(platform, [userId], -1);
      await deleteBotRole(platform, serverId, userId);
    }
    return true;
  });
  platform.wake('relay-server', { serverId });
  return removed;
}

/**
 * Makes sure that members of a server whose join is about to be relayed have a membership, so that a later connect does not miss their server: a removal or a sweep that
 * ran at the same moment as the join may have deleted it. Removes a person who is in 100 other servers by now.
 */
export async function confirmMemberships(platform: EnqueuePlatform, serverId: string, members: readonly MemberDoc[]): Promise<void> {
  const joined = members.filter(({ outbox }) => !isAnnounced(outbox));
  for (const member of await findUnconfirmed(platform, serverId, joined))
    if (!(await claimMembership(platform, member))) await removeMember(platform, serverId, member.userId, Number.POSITIVE_INFINITY);
}

/** Removes a bot's own role from the server, and the overwrites for the role and the bot from its channels. */
async function deleteBotRole(platform: Platform, serverId: string, botId: string): Promise<void> {
  const { servers } = platform.db;
  const ownRoles = (await servers.findOne({ _id: serverId }))?.roles.filter((role) => role.botId === botId) ?? [];
  for (const { id } of ownRoles)
    await servers.updateOne(
      { _id: serverId, 'roles.id': id },
      {
        $pull: { roles: { id } },
        $inc: { rolesVersion: 1 },
        // `shifted` begins at position 1, because another request may have moved the role before it was removed.
        ...addEvent(platform, { name: 'ROLE_DELETE', data: { roleId: id }, shifted: { from: 1 } }),
      },
    );
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
  const pendingEvent = addEvent(platform, { name: 'MEMBER_UPDATE', was: { given: { roleId, has: hasRole } } });
  const change = hasRole ? { $push: { roles: roleId, ...pendingEvent.$push } } : { $pull: { roles: roleId }, $push: pendingEvent.$push };
  const { modifiedCount } = await platform.accessVersions.runChange({ members: [[serverId, userId]] }, () =>
    members.updateOne({ ...key, ...unchangedFilter }, { ...change, $min: pendingEvent.$min }),
  );
  if (modifiedCount === 0) {
    const member = await members.findOne(key);
    if (member && member.roles.includes(roleId) !== hasRole) requireOutboxRoom(member.outbox);
    return member ? 'unchanged' : 'not-member';
  }
  platform.wake('relay-server', { serverId });
  return 'changed';
}

/** Recounts the members of servers where members joined or left and nothing has changed for a second. */
export const recountMembers = (platform: Platform): Promise<void> =>
  recountDueDocuments(
    platform,
    platform.db.servers,
    'memberCount',
    async (serverId, maxTimeMS) => await platform.db.members.countDocuments({ serverId }, { maxTimeMS }),
  );
