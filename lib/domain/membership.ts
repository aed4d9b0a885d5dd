import { refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { trusted } from '../store/database.ts';
import { insertInSlot } from '../store/insert.ts';
import type { MemberDoc } from '../store/models/server.ts';
import type { Platform } from '../store/platform.ts';

/** A fresh member without roles. */
export const newMember = (platform: Platform, serverId: string, userId: string, bot: boolean): MemberDoc => ({
  _id: `${serverId}:${userId}`,
  serverId,
  userId,
  bot,
  roles: [],
  joinedAt: new Date(platform.now()),
});

/** Counts a new member. Undoes the membership, and takes a bot's own role away, when the server went, or the account was banned, at the same moment: 404 `what`, or `banned`. */
export async function settleJoin(platform: Platform, member: MemberDoc, what: string): Promise<void> {
  const { _id, serverId } = member;
  const { matchedCount } = await platform.db.servers.updateOne({ _id: serverId }, { $inc: { memberCount: 1 } });
  const banned = await platform.db.bans.exists({ _id });
  if (matchedCount === 1 && !banned) return;
  await removeMember(platform, serverId, member.userId);
  if (banned) refuse('banned');
  refuse('not_found', { what });
}

/** Whether a person is in 100 servers. Says so before anything is used up; the slot of the membership is what holds. */
export const isFull = async (platform: Platform, userId: string): Promise<boolean> =>
  (await platform.db.members.countDocuments({ userId, slot: trusted({ $gte: 0 }) })) >= limits.serversPerPerson;

/** Puts a person into a server; false for who is in it already. Refuses `too_many_servers`. Called inside `versions.changing` of the server and the account. */
export async function addPerson(platform: Platform, serverId: string, userId: string): Promise<boolean> {
  const member = newMember(platform, serverId, userId, false);
  const { end } = await insertInSlot(platform.db.members, { userId }, limits.serversPerPerson, member);
  if (end === 'full') return refuse('too_many_servers', { limit: limits.serversPerPerson });
  if (end === 'there') return false;
  await settleJoin(platform, member, 'invite');
  return true;
}

/**
 * Takes an account out of a server, and a bot's own role with it (spec, Servers). False for who is not in it. The membership goes first, so that it ends
 * at once whatever comes after.
 */
export async function removeMember(platform: Platform, serverId: string, userId: string): Promise<boolean> {
  const { members, servers } = platform.db;
  return platform.versions.changing({ servers: [serverId], accounts: [userId] }, async () => {
    const member = await members.findOneAndDelete({ _id: `${serverId}:${userId}` }).lean();
    if (!member) return false;
    await servers.updateOne({ _id: serverId }, { $inc: { memberCount: -1 } });
    if (member.bot) await dropBotRole(platform, serverId, userId);
    return true;
  });
}

/** Removes a bot's own role, from the server and from what its channels say about it. */
async function dropBotRole(platform: Platform, serverId: string, botId: string): Promise<void> {
  const { servers, channels } = platform.db;
  const before = await servers
    .findOneAndUpdate({ _id: serverId }, { $pull: { roles: { botId } }, $inc: { rolesVersion: 1 } }, { returnDocument: 'before' })
    .lean();
  const roleIds = before?.roles.filter((role) => role.botId === botId).map((role) => role.id) ?? [];
  await forgetRoles(platform, serverId, roleIds);
  await channels.updateMany({ serverId, 'overwrites.id': botId }, { $pull: { overwrites: { id: botId } } });
}

/** Takes roles that are gone off the members and out of the overwrites of a server. */
export async function forgetRoles(platform: Platform, serverId: string, roleIds: readonly string[]): Promise<void> {
  const { members, channels } = platform.db;
  const ids = [...roleIds];
  if (ids.length === 0) return;
  await members.updateMany({ serverId, roles: trusted({ $in: ids }) }, { $pull: { roles: trusted({ $in: ids }) } });
  await channels.updateMany({ serverId, 'overwrites.id': trusted({ $in: ids }) }, { $pull: { overwrites: { id: trusted({ $in: ids }) } } });
}
