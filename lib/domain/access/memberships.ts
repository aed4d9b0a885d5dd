import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { readByIds } from '../../store/mongo/batched-reads.ts';
import { relaxedWriteConcern } from '../../store/mongo/database.ts';
import { sweepDue } from '../../store/mongo/due.ts';
import { insertInSlot, insertNew } from '../../store/mongo/insert.ts';
import { settleMemberships, toMembership } from '../../store/mongo/memberships.ts';
import {
  type MembershipDoc,
  toMembershipKey,
  toMembershipKeys,
  type UncertainMembership,
  uncertainMembershipsIndex,
} from '../../store/mongo/models/membership.ts';
import { type MemberDoc, toMemberKey } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { changeServerCounts } from '../counts/bot-servers.ts';

/** The account and server of a member. */
type MemberRef = Pick<MemberDoc, 'serverId' | 'userId'>;

/** The members that accounts are in servers, in this order; those that don't exist are left out. They are read together with those of other calls. */
export const readMembers = ({ db }: Platform, serverIds: readonly string[], userIds: readonly string[]): Promise<MemberDoc[]> =>
  readByIds(
    db.members,
    serverIds.flatMap((serverId) => userIds.map((userId) => toMemberKey(serverId, userId))),
  );

/** The member that an account is in a server, or null, as `readMembers` reads it. */
export const readMember = async (platform: Platform, serverId: string, userId: string): Promise<MemberDoc | null> =>
  (await readMembers(platform, [serverId], [userId]))[0] ?? null;

/** How many servers of an account one query reads. */
const pageSize = 1_000;

/**
 * The servers that an account is in, in the order of their ids: at most `limit` of those after `after`. A server that it has just left, or is about to join,
 * may be among them: read the members.
 */
export async function findServerIds({ db }: Platform, userId: string, after: string, limit: number): Promise<string[]> {
  const found = await db.memberships
    .find({ userId, serverId: { $gt: after } }, { projection: { _id: 0, serverId: 1 }, batchSize: limit + 1 })
    .sort({ userId: 1, serverId: 1 })
    .limit(limit)
    .toArray();
  return found.map(({ serverId }) => serverId);
}

/** All servers that an account is in, as `findServerIds` returns them, in pages of 1,000. A bot may be in any number. */
export async function* findServerIdPages(platform: Platform, userId: string): AsyncGenerator<string[], void> {
  for (let after = ''; ; ) {
    const page = await findServerIds(platform, userId, after, pageSize);
    if (page.length > 0) yield page;
    if (page.length < pageSize) return;
    after = page.at(-1) ?? after;
  }
}

/** All servers that an account is in, as `findServerIds` returns them. */
export async function findAllServerIds(platform: Platform, userId: string): Promise<string[]> {
  const serverIds: string[] = [];
  for await (const page of findServerIdPages(platform, userId)) serverIds.push(...page);
  return serverIds;
}

/** Whether a person is in 100 servers. This early check avoids using up anything, such as an invite; the slot of the membership enforces the limit. */
export const hasMaxServers = async ({ db }: Platform, userId: string): Promise<boolean> =>
  (await db.memberships.countDocuments({ userId, slot: { $gte: 0 } })) >= limits.serversPerPerson;

/**
 * Stores the membership of a member, with a slot for a person, or takes over an existing one. Its mark `checkAt` stays until it is certain that the member
 * exists. Returns the mark; null if the person is in 100 servers.
 */
export async function claimMembership({ db, now }: Platform, member: MemberDoc): Promise<Date | null> {
  const { memberships } = db;
  const { userId, joinedAt } = member;
  const checkAt = new Date(now());
  const membership: MembershipDoc = { ...toMembership(member), checkAt };
  for (;;) {
    const { outcome } = member.bot
      ? { outcome: (await insertNew(memberships, membership)) ? 'inserted' : 'exists' }
      : await insertInSlot(memberships, { userId }, limits.serversPerPerson, membership);
    if (outcome === 'full') return null;
    if (outcome === 'inserted') return checkAt;
    const { matchedCount } = await memberships.updateOne(toMembershipKey(member), { $set: { joinedAt, checkAt } });
    if (matchedCount === 1) return checkAt;
  }
}

/**
 * Adds a member after its membership, so that every member has one, and a person has at most 100. `full`: the person is in 100 servers. `exists`: the account
 * is a member already. If the process dies in between, `sweepMemberships` deletes the membership, or takes its mark off.
 */
export async function addMember(platform: Platform, member: MemberDoc): Promise<'added' | 'exists' | 'full'> {
  const { members, memberships } = platform.db;
  const checkAt = await claimMembership(platform, member);
  if (!checkAt) return 'full';
  failpoint(platform.config, 'after-membership-claim');
  if (!(await insertNew(members, member))) return 'exists';
  failpoint(platform.config, 'after-member-write');
  await memberships.updateOne({ ...toMembershipKey(member), checkAt }, { $unset: { checkAt: 1 } }, relaxedWriteConcern);
  return 'added';
}

/** Deletes the memberships of members that no longer exist. A membership that a later join has taken over stays. */
export async function deleteMemberships({ db }: Platform, departed: readonly (MemberRef & Pick<MemberDoc, 'joinedAt'>)[]): Promise<void> {
  if (departed.length === 0) return;
  await db.memberships.bulkWrite(
    departed.map((one) => ({ deleteOne: { filter: { ...toMembershipKey(one), joinedAt: one.joinedAt } } })),
    { ordered: false },
  );
}

/** Deletes the memberships of accounts in a server that is deleted. */
export async function deleteMembershipsOfServer({ db }: Platform, serverId: string, userIds: readonly string[]): Promise<void> {
  await db.memberships.deleteMany(toMembershipKeys(serverId, userIds));
}

/** Makes `sweepMemberships` look for the member of a membership, and delete the membership if the member is gone by then. */
export async function markUncertain({ db, now }: Platform, member: MemberRef): Promise<void> {
  await db.memberships.updateOne(toMembershipKey(member), { $set: { checkAt: new Date(now()) } });
}

/** The members of a server among `members` whose memberships are missing, or may be deleted by a concurrent removal. */
export async function findUnconfirmed({ db }: Platform, serverId: string, members: readonly MemberDoc[]): Promise<MemberDoc[]> {
  if (members.length === 0) return [];
  const userIds = members.map(({ userId }) => userId);
  const confirmed = { ...toMembershipKeys(serverId, userIds), checkAt: { $exists: false } };
  const found = await db.memberships.find(confirmed, { projection: { joinedAt: 1 } }).toArray();
  const joinedAtById = new Map(found.map(({ _id, joinedAt }) => [_id, joinedAt.getTime()]));
  return members.filter((member) => joinedAtById.get(toMembershipKey(member)._id) !== member.joinedAt.getTime());
}

/** Examines the memberships of joins that did not end: deletes those without a member, so that they hold no slot. */
export const sweepMemberships = sweepDue({
  collection: 'memberships',
  due: 'checkAt',
  afterMs: 10_000,
  hint: uncertainMembershipsIndex,
  max: 1_000,
  async run(platform: Platform, found) {
    await settleMemberships(platform.db, found as UncertainMembership[], new Date(platform.now()));
    const botIds = found.filter(({ bot }) => bot).map(({ userId }) => userId);
    await changeServerCounts(platform, botIds, 0); // a recount may have counted memberships without a member
  },
});
