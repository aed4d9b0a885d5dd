import { Schema } from 'mongoose';

/**
 * The mirror of a member, by account: it says in which servers an account is. `_id` is `<userId>:<serverId>`. Every member has one, but one may also exist
 * without a member for some seconds, so read the member before you conclude anything about access (docs/store.md#members-and-memberships).
 */
export interface MembershipDoc {
  _id: string;
  userId: string;
  serverId: string;
  bot: boolean;
  /** Slot among the person's servers, 0-99. The unique index on it enforces the limit of 100. Absent for bots. */
  slot?: number;
  /** When the join began that stored it last. Only the end of a member with the same `joinedAt` deletes it. */
  joinedAt: Date;
  /** Since when it is uncertain whether its member exists, because a join is under way or was interrupted. Absent when its member exists. */
  checkAt?: Date;
}

/** A membership whose member must be looked for. */
export type UncertainMembership = MembershipDoc & { checkAt: Date };

/** The index of memberships whose member must be looked for. */
export const uncertainMembershipsIndex = 'uncertain_memberships';

export const membershipSchema = new Schema<MembershipDoc>({}, { collection: 'memberships', shardKey: { userId: 'hashed' } });
membershipSchema.index({ userId: 1, serverId: 1 });
membershipSchema.index({ userId: 1, slot: 1 }, { unique: true, partialFilterExpression: { slot: { $exists: true } } });
membershipSchema.index({ checkAt: 1 }, { name: uncertainMembershipsIndex, partialFilterExpression: { checkAt: { $exists: true } } });

/** The filter of one membership. It has the shard key, so that one shard answers. */
export const toMembershipKey = ({ userId, serverId }: { userId: string; serverId: string }): { _id: string; userId: string } => ({
  _id: `${userId}:${serverId}`,
  userId,
});

/** The filter of the memberships of these accounts in a server, with their shard keys. */
export const toMembershipKeys = (serverId: string, userIds: readonly string[]): { serverId: string; userId: { $in: string[] } } => ({
  serverId,
  userId: { $in: [...userIds] },
});
