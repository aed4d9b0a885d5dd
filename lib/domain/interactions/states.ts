import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { InteractionState, InteractionUpdate } from '../../contract/interaction.ts';
import { exists } from '../../store/mongo/database.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { InteractionEvent, OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { createEntry, createRoomFilter } from '../events/pending.ts';

/** Interactions created before this are late. It is compared with the bare field, because only then do the sweeps find these few by index. */
const lateCreatedAt = { $subtract: ['$$NOW', limits.answerWindowMs] };

/** The time windows by the database's clock, as expressions over the stored interaction (docs/guarantees.md#interaction-clock). */
export const windows = {
  /** True during the 3 seconds for the first answer. */
  firstAnswer: { $gt: ['$createdAt', lateCreatedAt] },
  /** True after these 3 seconds. */
  late: { $lte: ['$createdAt', lateCreatedAt] },
  /** The milliseconds left of these 3 seconds, at least 0. */
  leftMs: { $max: [0, { $subtract: ['$createdAt', lateCreatedAt] }] },
  /** True during the 15 minutes for follow-ups, which count from the answer or the defer. */
  followUps: { $gt: [{ $add: ['$openedAt', limits.followupWindowMs] }, '$$NOW'] },
} as const;

/**
 * A transition of an interaction from the state `from`: the window that must be open (`window`), the fields that it writes (`set`), and the events that it adds
 * to the outbox (`events`).
 */
export interface Transition {
  from: InteractionState;
  window: object;
  /** A pipeline's `$set`: values from outside must be wrapped in `$literal`. */
  set: Record<string, unknown>;
  events: readonly OutboxEntry<InteractionEvent>[];
}

/**
 * Makes a transition. One conditional update writes the state, the answer and the events together (docs/guarantees.md#transitions). Returns the interaction
 * after it, or null if the interaction was in another state, the window was not open, or its outbox is full.
 */
export async function transition(
  platform: Platform,
  id: string,
  { from, window, set, events }: Transition,
): Promise<InteractionDoc | null> {
  const outbox = { $concatArrays: [{ $ifNull: ['$outbox', []] }, { $literal: events }] };
  const moved = await platform.db.interactions.findOneAndUpdate(
    { _id: id, state: from, ...createRoomFilter(limits.pendingAnswers), $expr: window },
    [{ $set: { ...set, outbox, outboxAt: { $ifNull: ['$outboxAt', '$$NOW'] } } }],
    { returnDocument: 'after' },
  );
  return moved;
}

/** The event that shows the new state of an interaction to the person who used it (docs/behavior/interactions.md#state-for-the-person). */
export const createUpdateEntry = (
  platform: Platform,
  { _id: id, channelId }: InteractionDoc,
  state: InteractionState,
  more: Pick<InteractionUpdate, 'endpointFailed'> = {},
): OutboxEntry<InteractionEvent> => createEntry(platform, { name: 'INTERACTION_UPDATE', data: { id, channelId, state, ...more } });

/** Reads the current interaction; 404 if it no longer exists. */
export async function requireInteraction(platform: Platform, id: string): Promise<InteractionDoc> {
  const found = await platform.db.interactions.findOne({ _id: id });
  return found ?? refuse('not_found', { what: 'interaction' });
}

/** Whether the window `expression` is open for the interaction, by the database's clock. */
export async function isWindowOpen(platform: Platform, id: string, expression: object): Promise<boolean> {
  return exists(platform.db.interactions, { _id: id, $expr: expression });
}

/**
 * Expires an interaction that got no answer in 3 seconds, and writes `extraFields` in the same update. Null if it was answered or expired before, or has time
 * left.
 */
export function markExpired(platform: Platform, interaction: InteractionDoc, extraFields: object = {}): Promise<InteractionDoc | null> {
  const events = [createUpdateEntry(platform, interaction, 'expired')];
  const set = { ...extraFields, state: 'expired' };
  return transition(platform, interaction._id, { from: 'created', window: windows.late, set, events });
}

/** Calls `markExpired` from a request that finds the interaction late (docs/guarantees.md#expiry). A worker relays the event. */
export async function expireAndWake(platform: EnqueuePlatform, interaction: InteractionDoc): Promise<InteractionDoc | null> {
  const expired = await markExpired(platform, interaction);
  if (expired) platform.wake('relay-interaction', { interactionId: interaction._id });
  return expired;
}

/** The interaction with its state by the clock: if it is late, it is expired first. */
export async function expireIfLate(platform: EnqueuePlatform, interaction: InteractionDoc): Promise<InteractionDoc> {
  if (interaction.state !== 'created') return interaction;
  return (await expireAndWake(platform, interaction)) ?? requireInteraction(platform, interaction._id);
}
