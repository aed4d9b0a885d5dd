import { refuse } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { limits } from '../base/limits.ts';
import { traitsOf } from '../contract/events.ts';
import { trusted } from '../store/database.ts';
import { insertInSlot } from '../store/insert.ts';
import { serverPlace } from '../store/log/keys.ts';
import type { OutboxEntry } from '../store/models/outbox.ts';
import type { MemberDoc } from '../store/models/server.ts';
import type { EnqueuePlatform, Platform } from '../store/platform.ts';
import { countServers } from './app-directory.ts';
import { nameMember } from './member-names.ts';
import { eachOwes, owes, requireRoom, withRoom } from './owed-events.ts';
import { recountMarked } from './recounts.ts';

/** The data of a pending SERVER_CREATE: from which number on the server's events are for the member; null when that could not be read. */
export interface Joined {
  from: number | null;
}

/** A new member without roles, with the pending events of its joining. Its names are yet to be written. */
export const newMember = async (platform: Platform, serverId: string, userId: string, bot: boolean): Promise<MemberDoc> => ({
  _id: `${serverId}:${userId}`,
  serverId,
  userId,
  bot,
  roles: [],
  joinedAt: new Date(platform.now()),
  renameId: platform.ids.next(),
  ob: [
    { id: platform.ids.next(), name: 'SERVER_CREATE', data: { from: await platform.lastNumber(serverPlace(serverId)) } satisfies Joined },
    { id: platform.ids.next(), name: 'MEMBER_ADD' },
  ],
  obAt: new Date(platform.now()),
});

/** What an update of a server adds for members that came, or went: the count at once, and its mark, so that it is right in the end whatever dies between. */
const counting = (platform: Platform, came: 1 | -1): { $inc: object; $set: object } => ({
  $inc: { memberCount: came },
  $set: { recountAt: new Date(platform.now()) },
});

/** Counts a new member. Undoes the membership, and takes a bot's own role away, when the server went, or the account was banned, at the same moment: 404 `what`, or `banned`. */
export async function settleJoin(platform: EnqueuePlatform, member: MemberDoc, what: string): Promise<void> {
  const { _id, serverId } = member;
  const { matchedCount } = await platform.db.servers.updateOne({ _id: serverId }, counting(platform, 1));
  if (member.bot) await countServers(platform, [member.userId], 1);
  await nameMember(platform, member);
  const banned = await platform.db.bans.exists({ _id });
  platform.nudge('relay-server', { serverId });
  if (matchedCount === 1 && !banned) return;
  await removeMember(platform, serverId, member.userId, Number.POSITIVE_INFINITY);
  if (banned) refuse('banned');
  refuse('not_found', { what });
}

/** Whether a person is in 100 servers. Says so before anything is used up; the slot of the membership is what holds. */
export const isFull = async (platform: Platform, userId: string): Promise<boolean> =>
  (await platform.db.members.countDocuments({ userId, slot: trusted({ $gte: 0 }) })) >= limits.serversPerPerson;

/** Puts a person into a server; false for who is in it already. Refuses `too_many_servers`. Called inside `versions.changing` of the membership. */
export async function addPerson(platform: EnqueuePlatform, serverId: string, userId: string): Promise<boolean> {
  const member = await newMember(platform, serverId, userId, false);
  const { end } = await insertInSlot(platform.db.members, { userId }, limits.serversPerPerson, member);
  if (end === 'full') return refuse('too_many_servers', { limit: limits.serversPerPerson });
  if (end === 'there') return false;
  await settleJoin(platform, member, 'invite');
  return true;
}

/** The data of a pending MEMBER_REMOVE: whose membership ends, when that membership began, and when its removal began. */
export interface Departing {
  userId: string;
  joinedAt: Date;
  at: Date;
}

/** Whether an entry of a server's outbox is about a membership that ends. */
export const isDeparture = ({ name }: OutboxEntry): boolean => traitsOf(name).audience === 'members' && traitsOf(name).life === 'ends';

/** The event of a membership's end: always the same for one membership, so that it is sent once, whoever ends it and however often. */
const departureOf = ({ serverId, userId, joinedAt }: MemberDoc, at: Date): OutboxEntry => ({
  id: `left-${serverId}-${userId}-${joinedAt.getTime()}`,
  name: 'MEMBER_REMOVE',
  data: { userId, joinedAt, at } satisfies Departing,
});

/**
 * Takes an account out of a server, with its own role if it is a bot (docs/behavior/servers.md#bot-role). False if it is not a member. The remaining members
 * and the account get the event even after a crash: the server's outbox holds it before the membership is deleted, and a worker relays it only after that. The
 * membership is deleted first, so it ends at once. Refuses `unavailable` for a server with `most` pending events.
 */
export async function removeMember(
  platform: EnqueuePlatform,
  serverId: string,
  userId: string,
  most: number = limits.eventsOwed,
): Promise<boolean> {
  const { members, servers } = platform.db;
  const _id = `${serverId}:${userId}`;
  const standing = await members.findOne({ _id }).lean();
  if (!standing) return false;
  if (standing.bot) await countServers(platform, [userId], 0);
  const now = new Date(platform.now());
  const entry = departureOf(standing, now);
  const owed = { $addToSet: { ob: entry }, $min: { obAt: now } };
  // Through the driver, which stores the entry as it is: the same one twice must be one.
  const server = servers.collection;
  const room = most === limits.eventsOwed ? withRoom : {};
  // A bot takes its own role along, which is a change of the rules.
  const rules = standing.bot ? { servers: [serverId] } : {};
  const removed = await platform.versions.changing({ ...rules, members: [[serverId, userId]] }, async () => {
    const { matchedCount } = await server.updateOne({ _id: serverId as never, ...room }, owed);
    if (matchedCount === 0) requireRoom((await servers.findOne({ _id: serverId }, { ob: 1 }).lean())?.ob?.length ?? 0, most);
    failpoint(platform.config, 'after-departure-intent');
    const member = await members.findOneAndDelete({ _id, joinedAt: standing.joinedAt }).lean();
    failpoint(platform.config, 'after-departure');
    if (!member) return false;
    // A worker may have dropped the news while the membership took its time to go: then it stands again.
    await server.updateOne({ _id: serverId as never }, { ...counting(platform, -1), ...owed } as never);
    if (member.bot) {
      await countServers(platform, [userId], -1);
      await dropBotRole(platform, serverId, userId);
    }
    return true;
  });
  platform.nudge('relay-server', { serverId });
  return removed;
}

/** Removes a bot's own role, from the server and from what its channels say about it. */
async function dropBotRole(platform: Platform, serverId: string, botId: string): Promise<void> {
  const { servers } = platform.db;
  const own = (await servers.findOne({ _id: serverId }).lean())?.roles.filter((role) => role.botId === botId) ?? [];
  for (const { id } of own)
    await servers.updateOne(
      { _id: serverId, 'roles.id': id },
      {
        $pull: { roles: { id } },
        $inc: { rolesVersion: 1 },
        // Wherever it stood when it went: another may have moved it meanwhile.
        ...owes(platform, { name: 'ROLE_DELETE', data: { roleId: id }, shifted: { from: 1 } }),
      },
    );
  await forgetOverwrites(platform, serverId, [botId, ...own.map((role) => role.id)]);
}

/** Takes roles that are gone, or a bot that is, out of the overwrites of a server; who could view its channels with them is told. */
export async function forgetOverwrites(platform: Platform, serverId: string, ids: readonly string[]): Promise<void> {
  const gone = { $in: ['$$one.id', { $literal: ids }] };
  const overwrites = { $filter: { input: '$overwrites', as: 'one', cond: { $not: [gone] } } };
  const owed = eachOwes(platform, { name: 'CHANNEL_UPDATE', was: { overwrites: '$overwrites' } });
  await platform.db.channels.collection.updateMany({ serverId, 'overwrites.id': { $in: ids } }, [{ $set: { overwrites, ...owed } }]);
}

/**
 * Gives a member a role, or takes it, with the event that it then owes: `changed`, `same` when that changed nothing, `gone` for who is not in the server.
 * Refuses `unavailable` for a member that owes 1,000 events.
 */
export async function changeMemberRole(
  platform: EnqueuePlatform,
  { serverId, userId, roleId, has }: { serverId: string; userId: string; roleId: string; has: boolean },
): Promise<'changed' | 'same' | 'gone'> {
  const { members } = platform.db;
  const _id = `${serverId}:${userId}`;
  const held = { roles: has ? trusted({ $ne: roleId }) : roleId, ...withRoom };
  const owed = owes(platform, { name: 'MEMBER_UPDATE', was: { given: { roleId, has } } });
  const change = has ? { $push: { roles: roleId, ...owed.$push } } : { $pull: { roles: roleId }, $push: owed.$push };
  const { modifiedCount } = await platform.versions.changing({ members: [[serverId, userId]] }, () =>
    members.updateOne({ _id, ...held }, { ...change, $min: owed.$min }),
  );
  if (modifiedCount === 0) {
    const member = await members.findOne({ _id }).lean();
    if (member && member.roles.includes(roleId) !== has) requireRoom(member.ob?.length ?? 0);
    return member ? 'same' : 'gone';
  }
  platform.nudge('relay-server', { serverId });
  return 'changed';
}

/** Counts the members of servers where some came or went and it is quiet now. */
export const recountMembers = (platform: Platform): Promise<void> =>
  recountMarked(
    platform,
    platform.db.servers,
    'memberCount',
    async (serverId, maxTimeMS) => await platform.db.members.countDocuments({ serverId }, { maxTimeMS }),
  );
