import { toParts } from '../../base/parts.ts';
import type { Collections } from './database.ts';
import { insertMissing } from './insert.ts';
import { type Batch, inBatches } from './migration-batches.ts';
import type { ReactionCounter } from './models/message.ts';
import { toReactionId } from './models/reaction.ts';

/** How many messages are read, and how many reactions are inserted, by one operation. */
const batchMessages = 2_000;
const batchReactions = 1_000;

/** How an earlier version stored the reactions of one emoji: in the message, with the users who reacted, oldest first. */
type OldReaction = Omit<ReactionCounter, 'count'> & { users: string[] };

async function moveReactionsOf({ messages, reactions }: Collections, message: { _id: string; channelId: string }): Promise<void> {
  const { _id: messageId, channelId } = message;
  const found = await messages.findOne({ _id: messageId, channelId }, { projection: { createdAt: 1, reactions: 1 } });
  const old = (found?.reactions ?? []) as unknown as readonly OldReaction[];
  if (!old.some(({ users }) => users)) return; // another process has moved them meanwhile
  const docs = old.flatMap(({ identity, users }) =>
    users.map((userId, n) => {
      const key = { messageId, userId, identity };
      return { _id: toReactionId(key), channelId, ...key, at: new Date((found?.createdAt.getTime() ?? 0) + n) };
    }),
  );
  for (const part of toParts(docs, batchReactions)) await insertMissing(reactions, part);
  const counters = old.map(({ identity, emoji, users }): ReactionCounter => ({ identity, emoji, count: users.length }));
  await messages.updateOne(
    { _id: messageId, channelId, 'reactions.users': { $exists: true } },
    { $set: { reactions: counters, reactionCount: docs.length } },
  );
}

/**
 * Moves the users who reacted from their messages to `reactions`, message by message; the message keeps the counters. It is written last, so a message with
 * users is not done yet.
 */
export function moveReactions(db: Collections, after: string): AsyncIterable<Batch> {
  const read = (position: string) =>
    db.messages
      .aggregate<{ _id: string; channelId: string; hasUsers: boolean }>([
        { $match: { _id: { $gt: position } } },
        { $sort: { _id: 1 } },
        { $limit: batchMessages },
        { $project: { channelId: 1, hasUsers: { $ne: [{ $ifNull: ['$reactions.users', []] }, []] } } },
      ])
      .toArray();
  return inBatches(after, read, async (batch) => {
    for (const message of batch) if (message.hasUsers) await moveReactionsOf(db, message);
  });
}
