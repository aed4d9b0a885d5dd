import type { Collections } from './database.ts';
import { type MembershipDoc, toMembershipKey, type UncertainMembership } from './models/membership.ts';
import type { MemberDoc } from './models/server.ts';

/** The membership of a member, without a slot. */
export const toMembership = ({
  serverId,
  userId,
  bot,
  joinedAt,
}: Pick<MemberDoc, 'serverId' | 'userId' | 'bot' | 'joinedAt'>): MembershipDoc => ({
  ...toMembershipKey({ userId, serverId }),
  serverId,
  bot,
  joinedAt,
});

/**
 * Looks for the members of memberships with `checkAt`: deletes a membership without a member, and takes the mark off the others. Does nothing where a join has
 * renewed the mark since they were read. A membership with another `joinedAt` than its member first gets that of its member and a mark of `now`, so that the
 * end of the member is not missed at the same moment; the next call takes that mark off.
 */
export async function settleMemberships(
  { members, memberships }: Pick<Collections, 'members' | 'memberships'>,
  uncertain: readonly UncertainMembership[],
  now: Date,
): Promise<void> {
  if (uncertain.length === 0) return;
  const keys = {
    _id: { $in: uncertain.map(({ serverId, userId }) => `${serverId}:${userId}`) },
    serverId: { $in: [...new Set(uncertain.map(({ serverId }) => serverId))] },
  };
  const found = await members.find(keys, { projection: { joinedAt: 1 }, hint: '_id_' }).toArray();
  const joinedAtById = new Map(found.map(({ _id, joinedAt }) => [_id, joinedAt]));
  await memberships.bulkWrite(
    uncertain.map((one) => {
      const filter = { ...toMembershipKey(one), checkAt: one.checkAt };
      const joinedAt = joinedAtById.get(`${one.serverId}:${one.userId}`);
      if (!joinedAt) return { deleteOne: { filter } };
      const isSame = joinedAt.getTime() === one.joinedAt.getTime();
      return { updateOne: { filter, update: isSame ? { $unset: { checkAt: 1 } } : { $set: { joinedAt, checkAt: now } } } };
    }),
    { ordered: false },
  );
}
