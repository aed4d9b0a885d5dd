import { limits } from '../../base/limits.ts';
import type { Platform } from '../../store/platform.ts';
import { alsoOwes, withRoom } from '../events/pending-events.ts';

/** A reaction that a request names: the caller's, with one emoji, on one message. */
export interface Reaction {
  channelId: string;
  messageId: string;
  userId: string;
  identity: string;
  emoji: string;
}

// Aggregation expressions on a stored message. Values from a request are wrapped in `$literal`.
const standing = { $ifNull: ['$reactions', []] };
const literal = (value: string) => ({ $literal: value });
const isOf = ({ identity }: Reaction) => ({ $eq: ['$$one.identity', literal(identity)] });
/** `field` of this emoji's entry; missing if nobody reacted with it. */
const fieldOf = (reaction: Reaction, field: 'emoji' | 'users') => ({
  $arrayElemAt: [
    { $map: { input: { $filter: { input: standing, as: 'one', cond: isOf(reaction) } }, as: 'one', in: `$$one.${field}` } },
    0,
  ],
});
const usersOf = (reaction: Reaction) => ({ $ifNull: [fieldOf(reaction, 'users'), []] });
const usersInAll = { $sum: { $map: { input: standing, as: 'one', in: { $size: '$$one.users' } } } };
/** All entries, with `users` in the entry of this emoji. */
const withUsers = (reaction: Reaction, users: object) => ({
  $map: {
    input: standing,
    as: 'one',
    in: { $cond: [isOf(reaction), { identity: '$$one.identity', emoji: '$$one.emoji', users }, '$$one'] },
  },
});
const messageOf = ({ channelId, messageId }: Reaction) => ({ _id: messageId, channelId, deleted: { $exists: false } });

/** The update that puts the event of a reaction into the message's outbox. The event has the emoji in the form that the message shows. */
const reactionNews = (platform: Platform, name: 'REACTION_ADD' | 'REACTION_REMOVE', reaction: Reaction) => {
  const emoji = { $ifNull: [fieldOf(reaction, 'emoji'), literal(reaction.emoji)] };
  return alsoOwes(platform, { name, data: { userId: literal(reaction.userId), emoji } });
};

/**
 * Adds a reaction if every rule allows it; false if one does not, or if the reaction exists. One conditional update checks the rules and writes the entry and
 * the event, so no race exceeds a cap and no event is sent without its reaction (docs/behavior/messages.md#reactions). `mayAdd`: whether the emoji may be new
 * on the message.
 */
export async function writeReaction(platform: Platform, reaction: Reaction, mayAdd: boolean): Promise<boolean> {
  const { identity, emoji, userId } = reaction;
  const joins = { reactions: { $elemMatch: { identity, users: { $ne: userId } } } };
  const adds = { 'reactions.identity': { $ne: identity }, [`reactions.${limits.reactionsPerMessage - 1}`]: { $exists: false } };
  const me = [literal(userId)];
  const joined = withUsers(reaction, { $concatArrays: ['$$one.users', me] });
  const added = { $concatArrays: [standing, [{ identity: literal(identity), emoji: literal(emoji), users: me }]] };
  const reactions = { $cond: [{ $eq: [usersOf(reaction), []] }, added, joined] };
  const { modifiedCount } = await platform.db.messages.collection.updateOne(
    {
      ...messageOf(reaction),
      $or: mayAdd ? [joins, adds] : [joins],
      ...withRoom,
      $expr: { $lt: [usersInAll, limits.reactionsInAll] },
    } as never,
    [{ $set: { ...reactionNews(platform, 'REACTION_ADD', reaction), reactions } }],
  );
  return modifiedCount === 1;
}

/** Removes a reaction, and its emoji's entry with the last user; false when there is no such reaction, or the message has no room for another pending event. */
export async function eraseReaction(platform: Platform, reaction: Reaction): Promise<boolean> {
  const { identity, userId } = reaction;
  const others = { $filter: { input: '$$one.users', as: 'user', cond: { $ne: ['$$user', literal(userId)] } } };
  const left = { $filter: { input: withUsers(reaction, others), as: 'one', cond: { $ne: ['$$one.users', []] } } };
  const { modifiedCount } = await platform.db.messages.collection.updateOne(
    { ...messageOf(reaction), reactions: { $elemMatch: { identity, users: userId } }, ...withRoom } as never,
    [
      { $set: { ...reactionNews(platform, 'REACTION_REMOVE', reaction), reactions: left } },
      { $set: { reactions: { $cond: [{ $eq: ['$reactions', []] }, '$$REMOVE', '$reactions'] } } },
    ],
  );
  return modifiedCount === 1;
}

/** The state of a message that the rules for a reaction check. */
export interface Seen {
  /** How many different emoji the message has. */
  emojis: number;
  /** How many reactions the message has in all. */
  inAll: number;
  /** Whether nobody reacted with this emoji. */
  isNew: boolean;
  /** Whether the caller reacted with this emoji. */
  mine: boolean;
  /** How many pending events the message has. */
  owed: number;
  /** The first 100 accounts that reacted with this emoji, oldest first. */
  users: string[];
}

/**
 * The state of a message for one reaction, with at most 100 of those who reacted. Null when the message does not exist, is deleted, or is in another channel.
 */
export async function seeReaction(platform: Platform, reaction: Reaction): Promise<Seen | null> {
  const all = usersOf(reaction);
  const seen = {
    emojis: { $size: standing },
    inAll: usersInAll,
    isNew: { $eq: [all, []] },
    mine: { $in: [literal(reaction.userId), all] },
    owed: { $size: { $ifNull: ['$ob', []] } },
    users: { $slice: [all, limits.reactorsShown] },
  };
  const found = platform.db.messages.collection.aggregate([{ $match: messageOf(reaction) }, { $project: seen }]);
  return (await found.next()) as Seen | null;
}
