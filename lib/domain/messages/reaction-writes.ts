import { limits } from '../../base/limits.ts';
import type { Platform } from '../../store/platform.ts';
import { addEventInPipeline, outboxHasRoom } from '../events/pending-events.ts';

/** A reaction that a request names: the caller's, with one emoji, on one message. */
export interface Reaction {
  channelId: string;
  messageId: string;
  userId: string;
  identity: string;
  emoji: string;
}

// Aggregation expressions on a stored message. Values from a request are wrapped in `$literal`.
const storedReactions = { $ifNull: ['$reactions', []] };
const literal = (value: string) => ({ $literal: value });
const isSameEmoji = ({ identity }: Reaction) => ({ $eq: ['$$one.identity', literal(identity)] });
/** `field` of this emoji's entry; missing if nobody reacted with it. */
const toEntryField = (reaction: Reaction, field: 'emoji' | 'users') => ({
  $arrayElemAt: [
    { $map: { input: { $filter: { input: storedReactions, as: 'one', cond: isSameEmoji(reaction) } }, as: 'one', in: `$$one.${field}` } },
    0,
  ],
});
const toUsers = (reaction: Reaction) => ({ $ifNull: [toEntryField(reaction, 'users'), []] });
const reactionCount = { $sum: { $map: { input: storedReactions, as: 'one', in: { $size: '$$one.users' } } } };
/** All entries, with `users` in the entry of this emoji. */
const withEntryUsers = (reaction: Reaction, users: object) => ({
  $map: {
    input: storedReactions,
    as: 'one',
    in: { $cond: [isSameEmoji(reaction), { identity: '$$one.identity', emoji: '$$one.emoji', users }, '$$one'] },
  },
});
const toMessageFilter = ({ channelId, messageId }: Reaction) => ({ _id: messageId, channelId, deleted: { $exists: false } });

/** The update that puts the event of a reaction into the message's outbox. The event has the emoji in the form that the message shows. */
const createReactionEvent = (platform: Platform, name: 'REACTION_ADD' | 'REACTION_REMOVE', reaction: Reaction) => {
  const emoji = { $ifNull: [toEntryField(reaction, 'emoji'), literal(reaction.emoji)] };
  return addEventInPipeline(platform, { name, data: { userId: literal(reaction.userId), emoji } });
};

/**
 * Adds a reaction if every rule allows it; false if one does not, or if the reaction exists. One conditional update checks the rules and writes the entry and
 * the event, so no race exceeds a cap and no event is sent without its reaction (docs/behavior/messages.md#reactions). `canAddEmoji`: whether the emoji may be
 * new on the message.
 */
export async function writeReaction(platform: Platform, reaction: Reaction, canAddEmoji: boolean): Promise<boolean> {
  const { identity, emoji, userId } = reaction;
  const joins = { reactions: { $elemMatch: { identity, users: { $ne: userId } } } };
  const adds = { 'reactions.identity': { $ne: identity }, [`reactions.${limits.reactionsPerMessage - 1}`]: { $exists: false } };
  const me = [literal(userId)];
  const joined = withEntryUsers(reaction, { $concatArrays: ['$$one.users', me] });
  const added = { $concatArrays: [storedReactions, [{ identity: literal(identity), emoji: literal(emoji), users: me }]] };
  const reactions = { $cond: [{ $eq: [toUsers(reaction), []] }, added, joined] };
  const { modifiedCount } = await platform.db.messages.updateOne(
    {
      ...toMessageFilter(reaction),
      $or: canAddEmoji ? [joins, adds] : [joins],
      ...outboxHasRoom,
      $expr: { $lt: [reactionCount, limits.reactionsTotalPerMessage] },
    },
    [{ $set: { ...createReactionEvent(platform, 'REACTION_ADD', reaction), reactions } }],
  );
  return modifiedCount === 1;
}

/** Removes a reaction, and its emoji's entry with the last user; false when there is no such reaction, or the message has no room for another pending event. */
export async function deleteReaction(platform: Platform, reaction: Reaction): Promise<boolean> {
  const { identity, userId } = reaction;
  const others = { $filter: { input: '$$one.users', as: 'user', cond: { $ne: ['$$user', literal(userId)] } } };
  const left = { $filter: { input: withEntryUsers(reaction, others), as: 'one', cond: { $ne: ['$$one.users', []] } } };
  const { modifiedCount } = await platform.db.messages.updateOne(
    { ...toMessageFilter(reaction), reactions: { $elemMatch: { identity, users: userId } }, ...outboxHasRoom },
    [
      { $set: { ...createReactionEvent(platform, 'REACTION_REMOVE', reaction), reactions: left } },
      { $set: { reactions: { $cond: [{ $eq: ['$reactions', []] }, '$$REMOVE', '$reactions'] } } },
    ],
  );
  return modifiedCount === 1;
}

/** The state of a message that the rules for a reaction check. */
export interface ReactionState {
  /** How many different emoji the message has. */
  emojiCount: number;
  /** How many reactions the message has in all. */
  reactionCount: number;
  /** Whether nobody reacted with this emoji. */
  isNewEmoji: boolean;
  /** Whether the caller reacted with this emoji. */
  isOwn: boolean;
  /** How many pending events the message has. */
  pendingCount: number;
  /** The first 100 accounts that reacted with this emoji, oldest first. */
  users: string[];
}

/**
 * The state of a message for one reaction, with at most 100 of those who reacted. Null when the message does not exist, is deleted, or is in another channel.
 */
export async function readReactionState(platform: Platform, reaction: Reaction): Promise<ReactionState | null> {
  const all = toUsers(reaction);
  const projection = {
    emojiCount: { $size: storedReactions },
    reactionCount,
    isNewEmoji: { $eq: [all, []] },
    isOwn: { $in: [literal(reaction.userId), all] },
    pendingCount: { $size: { $ifNull: ['$outbox', []] } },
    users: { $slice: [all, limits.reactorsShown] },
  };
  const found = platform.db.messages.aggregate([{ $match: toMessageFilter(reaction) }, { $project: projection }]);
  return (await found.next()) as ReactionState | null;
}
