import { readEmoji } from '../../base/emoji.ts';
import { deletedReactionsIndex, type MessageDoc } from '../../store/mongo/models/message.ts';
import { type ReactionDoc, toReactionId } from '../../store/mongo/models/reaction.ts';
import type { Platform, WorkerPlatform } from '../../store/platform.ts';
import { removableTombstones } from './crosspost-tombstones.ts';

/**
 * How long the write of the message may follow that of the reaction, and when the change counts as undone if the message does not have its event, in
 * milliseconds, times STORE_TIMEOUT_FACTOR. Both are compared with the clock of the database. The difference covers the clocks of several `mongos`.
 */
const changeMs = { max: 5_000, overdue: 10_000 };

/** `changeMs` of this process. */
export const reactionChangeMs = ({ config: { STORE_TIMEOUT_FACTOR } }: Platform): typeof changeMs => ({
  max: changeMs.max * STORE_TIMEOUT_FACTOR,
  overdue: changeMs.overdue * STORE_TIMEOUT_FACTOR,
});

/** An expression on a message: whether the change of a reaction with this event is in effect and not complete. */
export const inEffect = (eventId: string): object => ({ $in: [{ $literal: eventId }, { $ifNull: ['$outbox.id', []] }] });

/** A change of a reaction whose result is known: whether the account has reacted now. */
interface KnownChange extends Pick<ReactionDoc, '_id' | 'channelId'> {
  eventId: string;
  isReaction: boolean;
}

/** The index that finds reactions by their ids. Without a hint the database may combine it with an index that has all reactions of a channel. */
const byId = { hint: '_id_' } as const;

/** Completes changes of reactions, or undoes them, as `isReaction` says. A reaction that names another event is not changed. */
export async function completeChanges({ db: { reactions } }: Platform, changes: readonly KnownChange[]): Promise<void> {
  const toFilter = (some: readonly KnownChange[]) => ({
    channelId: { $in: [...new Set(some.map(({ channelId }) => channelId))] },
    _id: { $in: some.map(({ _id }) => _id) },
    eventId: { $in: some.map(({ eventId }) => eventId) },
  });
  const stored = changes.filter(({ isReaction }) => isReaction);
  const removed = changes.filter(({ isReaction }) => !isReaction);
  if (stored.length) await reactions.updateMany(toFilter(stored), { $unset: { eventId: 1, removingAt: 1 } }, byId);
  if (removed.length) await reactions.deleteMany(toFilter(removed), byId);
}

/** Completes the changes whose events were relayed, before the events leave their outboxes. */
export async function completeRelayedChanges(platform: WorkerPlatform, messages: readonly MessageDoc[]): Promise<void> {
  const changes = messages.flatMap(({ _id: messageId, channelId, outbox = [] }) =>
    outbox.flatMap((entry): KnownChange[] => {
      if (entry.name !== 'REACTION_ADD' && entry.name !== 'REACTION_REMOVE') return [];
      const { userId, emoji } = entry.data;
      const identity = readEmoji(emoji)?.identity ?? emoji;
      return [
        { _id: toReactionId({ messageId, userId, identity }), channelId, eventId: entry.id, isReaction: entry.name === 'REACTION_ADD' },
      ];
    }),
  );
  await completeChanges(platform, changes);
}

/** How many documents one operation reads or deletes, so that it stays far below the time limit of an operation. */
const batchReactions = 1_000;
const batchChanges = 100;

/** Deletes the reactions of a deleted channel, or of one message in it, in batches. Calls `beforeBatch` before each batch. */
export async function deleteReactions(
  { db: { reactions } }: Platform,
  scope: { channelId: string; messageId?: string },
  beforeBatch?: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    await beforeBatch?.();
    const found = await reactions
      .find(scope, { projection: { _id: 1 } })
      .sort({ channelId: 1, messageId: 1, userId: 1 })
      .limit(batchReactions)
      .toArray();
    if (found.length) await reactions.deleteMany({ channelId: scope.channelId, _id: { $in: found.map(({ _id }) => _id) } }, byId);
    if (found.length < batchReactions) return;
  }
}

/** Completes or undoes the changes that are overdue: their process died, or no worker has relayed their events yet. */
async function completeOverdueChanges(platform: WorkerPlatform): Promise<void> {
  const { messages, reactions } = platform.db;
  const { overdue } = reactionChangeMs(platform);
  for (;;) {
    const changes = await reactions
      .find({
        eventId: { $exists: true },
        at: { $lt: new Date(platform.now() - overdue) },
        $expr: { $lt: [{ $ifNull: ['$removingAt', '$at'] }, { $subtract: ['$$NOW', overdue] }] },
      })
      .sort({ at: 1 })
      .limit(batchChanges)
      .toArray();
    if (changes.length === 0) return;
    const scope = {
      channelId: { $in: [...new Set(changes.map(({ channelId }) => channelId))] },
      _id: { $in: [...new Set(changes.map(({ messageId }) => messageId))] },
    };
    const eventIds = changes.map(({ eventId = '' }) => eventId);
    const found = await messages
      .aggregate<{ _id: string; inEffect: string[] }>([
        { $match: scope },
        { $project: { inEffect: { $setIntersection: [{ $ifNull: ['$outbox.id', []] }, { $literal: eventIds }] } } },
      ])
      .toArray();
    const existing = new Set(found.map(({ _id }) => _id));
    const eventIdsInEffect = new Set(found.flatMap((one) => one.inEffect));
    await completeChanges(
      platform,
      changes.map(({ _id, channelId, messageId, eventId = '', removingAt }) => ({
        _id,
        channelId,
        eventId,
        isReaction: existing.has(messageId) && eventIdsInEffect.has(eventId) === (removingAt === undefined),
      })),
    );
    if (changes.length < batchChanges) return;
  }
}

/** How many tombstones one sweep takes. */
const sweepTombstones = 100;

/** Deletes the reactions of deleted messages, and then the tombstones, which were kept for this. */
async function deleteReactionsOfTombstones(platform: WorkerPlatform): Promise<void> {
  const { messages } = platform.db;
  const tombstones = await messages
    .find({ deleted: true, reactionCount: { $exists: true }, outboxAt: { $exists: false } })
    .hint(deletedReactionsIndex)
    .limit(sweepTombstones)
    .toArray();
  for (const { _id: messageId, channelId } of tombstones) await deleteReactions(platform, { channelId, messageId });
  const removable = tombstones.length ? await removableTombstones(platform, tombstones) : [];
  for (const { _id, channelId } of tombstones) if (removable.includes(_id)) await messages.deleteOne({ _id, channelId, deleted: true });
}

/** Completes or undoes changes of reactions whose process died, and deletes the reactions of deleted messages (docs/store.md#reactions). */
export async function sweepReactions(platform: WorkerPlatform): Promise<void> {
  await completeOverdueChanges(platform);
  await deleteReactionsOfTombstones(platform);
}
