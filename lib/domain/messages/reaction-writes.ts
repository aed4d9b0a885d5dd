import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { pollUntil } from '../../base/poll.ts';
import type { Filter, Update } from '../../store/mongo/database.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { MessageDoc, ReactionCounter } from '../../store/mongo/models/message.ts';
import { type MessageEvent, pushEntries } from '../../store/mongo/models/outbox.ts';
import { type ReactionDoc, toReactionId } from '../../store/mongo/models/reaction.ts';
import type { Platform } from '../../store/platform.ts';
import { createEntry, outboxHasRoom } from '../events/pending.ts';
import { completeChanges, inEffect, reactionChangeMs } from './reaction-changes.ts';

/** A reaction that a request names: the caller's, with one emoji, on one message. */
export interface Reaction {
  channelId: string;
  messageId: string;
  userId: string;
  identity: string;
  emoji: string;
}

/** What the rules for a reaction check, and what the write expects to be unchanged. */
export interface ReactionState {
  /** The message's counters, and the index of that of this emoji; -1 if nobody reacted with it. */
  counters: readonly ReactionCounter[];
  counterIndex: number;
  /** How many reactions the message has in all. */
  reactionCount: number;
  /** How many pending events the message has. */
  pendingCount: number;
  /** Whether the caller reacted with this emoji. */
  isOwn: boolean;
  /** The document of the caller's reaction. It also exists while it is being added or removed. */
  own: ReactionDoc | null;
  /** When this was read, by the clock of the database. */
  now: Date;
}

const toMessageFilter = ({ channelId, messageId }: Reaction) => ({ _id: messageId, channelId, deleted: { $exists: false } });

/** Reads the state once. `unknown` while another request of the caller changes this reaction. Null as for `readReactionState`. */
async function readState(platform: Platform, reaction: Reaction): Promise<ReactionState | 'unknown' | null> {
  const { channelId, identity } = reaction;
  const { messages, reactions } = platform.db;
  // The reaction is read before the message, because its event leaves the outbox only after the reaction no longer names it.
  const own = await reactions.findOne({ _id: toReactionId(reaction), channelId });
  const projection = {
    counters: { $ifNull: ['$reactions', []] },
    reactionCount: { $ifNull: ['$reactionCount', 0] },
    pendingCount: { $size: { $ifNull: ['$outbox', []] } },
    isInEffect: inEffect(own?.eventId ?? ''),
    now: '$$NOW',
  };
  type Found = Omit<ReactionState, 'counterIndex' | 'own' | 'isOwn'> & { isInEffect: boolean };
  const found = (await messages.aggregate([{ $match: toMessageFilter(reaction) }, { $project: projection }]).next()) as Found | null;
  if (!found) return null;
  const { isInEffect, ...state } = found;
  if (own?.eventId !== undefined && !isInEffect) {
    const isOverdue = state.now.getTime() - (own.removingAt ?? own.at).getTime() > reactionChangeMs(platform).overdue;
    if (isOverdue) await completeChanges(platform, [{ ...own, eventId: own.eventId, isReaction: own.removingAt !== undefined }]);
    return 'unknown';
  }
  const counterIndex = state.counters.findIndex((one) => one.identity === identity);
  return { ...state, own, counterIndex, isOwn: own !== null && !own.removingAt && counterIndex >= 0 };
}

/** How long a request waits for another one of the same account that changes the same reaction, in milliseconds, times STORE_TIMEOUT_FACTOR. */
const waitMs = 1_500;

/**
 * The state of a message for one reaction. Null when the message does not exist, is deleted, or is in another channel. `unknown` if another request of the
 * caller has begun to change the reaction, and its process died or is late.
 */
export async function readReactionState(platform: Platform, reaction: Reaction): Promise<ReactionState | 'unknown' | null> {
  let state = await readState(platform, reaction);
  if (state === 'unknown')
    await pollUntil(waitMs * platform.config.STORE_TIMEOUT_FACTOR, async () => {
      state = await readState(platform, reaction);
      return state !== 'unknown';
    });
  return state;
}

/** Writes the reaction of the caller, with the event of the change. False if another request has changed it since it was read. */
async function beginChange(
  { db }: Platform,
  reaction: Reaction,
  { own, now }: ReactionState,
  name: ReactionEvent,
  eventId: string,
): Promise<boolean> {
  const { channelId, messageId, userId, identity } = reaction;
  if (!own) return insertNew(db.reactions, { _id: toReactionId(reaction), channelId, messageId, userId, identity, at: now, eventId });
  const { modifiedCount } = await db.reactions.updateOne(
    { _id: own._id, channelId, at: own.at, eventId: own.eventId ?? { $exists: false } },
    name === 'REACTION_ADD' ? { $set: { at: now, eventId }, $unset: { removingAt: 1 } } : { $set: { removingAt: now, eventId } },
  );
  return modifiedCount === 1;
}

type ReactionEvent = 'REACTION_ADD' | 'REACTION_REMOVE';

/** A conditional change of the counters of a message. */
interface CounterChange {
  condition: Filter<MessageDoc>;
  update: Pick<Update<MessageDoc>, '$inc' | '$pull'> & { $push?: { reactions: ReactionCounter } };
}

/** The change of the counters for one reaction more, or one less. The last reaction removes the emoji. */
function changeCounters({ identity, emoji }: Reaction, { counters, counterIndex }: ReactionState, name: ReactionEvent): CounterChange {
  const counter = counters[counterIndex];
  const path = `reactions.${counterIndex}`;
  const same = { [`${path}.emoji`]: counter?.emoji }; // emoji with the same form have the same identity
  const delta = name === 'REACTION_ADD' ? 1 : -1;
  const increment = { $inc: { [`${path}.count`]: delta, reactionCount: delta } };
  if (name === 'REACTION_REMOVE')
    return counter?.count === 1
      ? { condition: { ...same, [`${path}.count`]: 1 }, update: { $pull: { reactions: { identity } }, $inc: { reactionCount: delta } } }
      : { condition: { ...same, [`${path}.count`]: { $gt: 1 } }, update: increment };
  const hasRoom = { reactionCount: { $not: { $gte: limits.reactionsTotalPerMessage } } };
  if (counter) return { condition: { ...same, ...hasRoom }, update: increment };
  const isNew = { 'reactions.identity': { $ne: identity }, [`reactions.${limits.reactionsPerMessage - 1}`]: { $exists: false } };
  return {
    condition: { ...isNew, ...hasRoom },
    update: { $push: { reactions: { identity, emoji, count: 1 } }, $inc: { reactionCount: delta } },
  };
}

/**
 * Adds or removes the caller's reaction, as `state` allows it (docs/store.md#reactions). The first write is that of the reaction, which names the event of the
 * change. The second is one conditional update of the message, which checks every rule and writes the counter and the event: with it the change is in effect, so
 * no race exceeds a cap, and no event is sent without its reaction. False if the state has changed meanwhile; then nothing has changed.
 */
export async function writeReaction(platform: Platform, reaction: Reaction, state: ReactionState, name: ReactionEvent): Promise<boolean> {
  const { channelId, userId } = reaction;
  const eventId = platform.ids.next();
  if (!(await beginChange(platform, reaction, state, name, eventId))) return false;
  failpoint(platform.config, 'after-reaction-begin');
  const { condition, update } = changeCounters(reaction, state, name);
  const emoji = state.counters[state.counterIndex]?.emoji ?? reaction.emoji;
  const event = pushEntries<MessageEvent>(createEntry(platform, { name, data: { userId, emoji } }, eventId));
  const isInTime = { $expr: { $lt: ['$$NOW', new Date(state.now.getTime() + reactionChangeMs(platform).max)] } };
  const { modifiedCount } = await platform.db.messages.updateOne(
    { ...toMessageFilter(reaction), ...outboxHasRoom, ...condition, ...isInTime },
    { ...event, ...update, $push: { ...event.$push, ...update.$push } },
  );
  failpoint(platform.config, 'after-reaction-write');
  if (modifiedCount === 1) return true;
  const undone = { _id: toReactionId(reaction), channelId, eventId, isReaction: name === 'REACTION_REMOVE' };
  await completeChanges(platform, [undone]);
  return false;
}
