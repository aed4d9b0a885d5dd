import { Schema } from 'mongoose';

/**
 * A reaction: one account, one emoji, one message (docs/store.md#reactions). The message holds how many there are. While the event of its last change is
 * pending, the reaction names it: the change has taken effect if the message's outbox has that event, and has not if the outbox does not have it.
 */
export interface ReactionDoc {
  /** `<messageId>:<userId>:<identity>`, so that an account reacts with an emoji only once. */
  _id: string;
  channelId: string;
  messageId: string;
  userId: string;
  /** The key by which emoji are compared, as in the message. */
  identity: string;
  /** When it was added, by the clock of the database. Reactions are listed in this order. */
  at: Date;
  /** The event of a change that is not known to be complete. Absent when there is none. */
  eventId?: string;
  /** When a removal began, by the clock of the database. Absent while the reaction is being added. */
  removingAt?: Date;
}

/** The id of the reaction of an account with an emoji on a message. */
export const toReactionId = ({ messageId, userId, identity }: Pick<ReactionDoc, 'messageId' | 'userId' | 'identity'>): string =>
  `${messageId}:${userId}:${identity}`;

export const reactionSchema = new Schema<ReactionDoc>({}, { collection: 'reactions', shardKey: { channelId: 'hashed' } });
reactionSchema.index({ channelId: 1, messageId: 1, identity: 1, at: 1 });
reactionSchema.index({ channelId: 1, messageId: 1, userId: 1 });
reactionSchema.index({ at: 1 }, { partialFilterExpression: { eventId: { $exists: true } } });
