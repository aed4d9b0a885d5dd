import { limits } from '../../base/limits.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import { type ReactionDoc, toReactionId } from '../../store/mongo/models/reaction.ts';
import type { Platform } from '../../store/platform.ts';

/** Leaves out reactions that are being removed. One that is being added counts as soon as the message shows its emoji. */
const notRemoving = { removingAt: { $exists: false } };

/** The ids (`toReactionId`) of the reactions of `userId` on these messages. Takes one query, and none if no message has reactions. */
export async function findOwnReactions(
  { db }: Platform,
  messages: readonly MessageDoc[],
  userId: string | null,
): Promise<ReadonlySet<string>> {
  const withReactions = messages.filter(({ reactions = [] }) => reactions.length > 0);
  if (userId === null || withReactions.length === 0) return new Set();
  const channelId = { $in: [...new Set(withReactions.map((one) => one.channelId))] };
  const messageId = { $in: withReactions.map(({ _id }) => _id) };
  const found = await db.reactions.find({ channelId, messageId, userId, ...notRemoving }, { projection: { _id: 1 } }).toArray();
  return new Set(found.map(({ _id }) => _id));
}

/**
 * The first 100 accounts that reacted with an emoji, oldest reaction first. Null when the message does not exist, is deleted, or is in another channel.
 */
export async function findReactors(
  { db }: Platform,
  { channelId, messageId, identity }: Pick<ReactionDoc, 'channelId' | 'messageId' | 'identity'>,
): Promise<string[] | null> {
  const message = await db.messages.findOne({ _id: messageId, channelId, deleted: { $exists: false } }, { projection: { reactions: 1 } });
  if (!message) return null;
  if (!message.reactions?.some((one) => one.identity === identity)) return [];
  const found = await db.reactions
    .find({ channelId, messageId, identity, ...notRemoving }, { projection: { userId: 1 } })
    .sort({ at: 1 })
    .limit(limits.reactorsShown)
    .toArray();
  return found.map(({ userId }) => userId);
}

/** How a message shows its reactions. `own`: the result of `findOwnReactions`; empty for an event. */
export const toReactions = ({ _id: messageId, reactions = [] }: MessageDoc, viewerId: string | null, own: ReadonlySet<string>) =>
  reactions.map(({ identity, emoji, count }) => ({
    emoji,
    count,
    me: viewerId !== null && own.has(toReactionId({ messageId, userId: viewerId, identity })),
  }));
