import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { EventData } from '../../contract/events.ts';
import type { InteractionState } from '../../contract/interaction.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';

/** Interactions created before this are late. It is compared with the bare field, because only then do the sweeps find these few by index. */
const answerBegan = { $subtract: ['$$NOW', limits.answerWindowMs] };

/** The time windows by the database's clock, as expressions over the stored interaction (docs/guarantees.md#interaction-clock). */
export const windows = {
  /** True during the 3 seconds for the first answer. */
  answering: { $gt: ['$createdAt', answerBegan] },
  /** True after these 3 seconds. */
  late: { $lte: ['$createdAt', answerBegan] },
  /** The milliseconds left of these 3 seconds, at least 0. */
  left: { $max: [0, { $subtract: ['$createdAt', answerBegan] }] },
  /** True during the 15 minutes for follow-ups, which count from the answer or the defer. */
  following: { $gt: [{ $add: ['$openedAt', limits.followupWindowMs] }, '$$NOW'] },
} as const;

/**
 * A transition of an interaction from the state `from`: the window that must be open (`during`), the fields that it writes (`set`), and the events that it adds
 * to the outbox (`owes`).
 */
export interface Move {
  from: InteractionState;
  during: object;
  /** A pipeline's `$set`: values from outside must be wrapped in `$literal`. */
  set: Record<string, unknown>;
  owes: readonly OutboxEntry[];
}

/**
 * Makes a transition. One conditional update writes the state, the answer and the events together (docs/guarantees.md#transitions). Returns the interaction
 * after it, or null if the interaction was in another state, the window was not open, or its outbox is full.
 */
export async function move(platform: Platform, id: string, { from, during, set, owes }: Move): Promise<InteractionDoc | null> {
  const ob = { $concatArrays: [{ $ifNull: ['$ob', []] }, { $literal: owes }] };
  const moved = await platform.db.interactions.collection.findOneAndUpdate(
    { _id: id as never, state: from, [`ob.${limits.answersOwed - 1}`]: { $exists: false }, $expr: during },
    [{ $set: { ...set, ob, obAt: { $ifNull: ['$obAt', '$$NOW'] } } }],
    { returnDocument: 'after' },
  );
  return moved as unknown as InteractionDoc | null;
}

/** The event that shows the new state of an interaction to the person who used it (docs/behavior/interactions.md#state-for-the-person). */
export function updateEntry(platform: Platform, { _id: id, channelId }: InteractionDoc, state: InteractionState): OutboxEntry {
  const data: EventData<'INTERACTION_UPDATE'> = { id, channelId, state };
  return { id: platform.ids.next(), name: 'INTERACTION_UPDATE', data };
}

/** Reads the current interaction; 404 if it no longer exists. */
export async function readInteraction(platform: Platform, id: string): Promise<InteractionDoc> {
  const found = await platform.db.interactions.findOne({ _id: id }).lean();
  return found ?? refuse('not_found', { what: 'interaction' });
}

/** Whether the window `expression` is open for the interaction, by the database's clock. */
export async function isDuring(platform: Platform, id: string, expression: object): Promise<boolean> {
  return (await platform.db.interactions.exists({ _id: id, $expr: trusted(expression) })) !== null;
}

/** Expires an interaction that got no answer in 3 seconds. Null if it was answered or expired before, or has time left. */
export function moveToExpired(platform: Platform, interaction: InteractionDoc): Promise<InteractionDoc | null> {
  const owes = [updateEntry(platform, interaction, 'expired')];
  return move(platform, interaction._id, { from: 'created', during: windows.late, set: { state: 'expired' }, owes });
}

/** Calls `moveToExpired` from a request that finds the interaction late (docs/guarantees.md#expiry). A worker relays the event. */
export async function expireLazily(platform: EnqueuePlatform, interaction: InteractionDoc): Promise<InteractionDoc | null> {
  const expired = await moveToExpired(platform, interaction);
  if (expired) platform.nudge('relay-interaction', { interactionId: interaction._id });
  return expired;
}

/** The interaction with its state by the clock: if it is late, it is expired first. */
export async function settleState(platform: EnqueuePlatform, interaction: InteractionDoc): Promise<InteractionDoc> {
  if (interaction.state !== 'created') return interaction;
  return (await expireLazily(platform, interaction)) ?? readInteraction(platform, interaction._id);
}
