import { refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { EventData } from '../contract/events.ts';
import type { InteractionState } from '../contract/interaction.ts';
import { trusted } from '../store/database.ts';
import type { InteractionDoc } from '../store/models/interaction.ts';
import type { OutboxEntry } from '../store/models/outbox.ts';
import type { EnqueuePlatform, Platform } from '../store/platform.ts';

/** What was created before this is past its time. Compared with the bare field, as the sweeps find those few by their index only so. */
const answerBegan = { $subtract: ['$$NOW', limits.answerWindowMs] };

/** The time windows by the database's clock, as expressions on the stored interaction (docs/guarantees.md#interaction-clock). */
export const windows = {
  /** The 3 seconds for the first answer run. */
  answering: { $gt: ['$createdAt', answerBegan] },
  /** They are over. */
  late: { $lte: ['$createdAt', answerBegan] },
  /** How many milliseconds are left of them. */
  left: { $max: [0, { $subtract: ['$createdAt', answerBegan] }] },
  /** The 15 minutes for follow-ups run; they count from the answer or the defer. */
  following: { $gt: [{ $add: ['$openedAt', limits.followupWindowMs] }, '$$NOW'] },
} as const;

/** A move of an interaction from one state: the window that must be open, what it writes, and the events it owes from then on. */
export interface Move {
  from: InteractionState;
  during: object;
  /** Values from outside must stand in `$literal`: this is a pipeline's `$set`. */
  set: Record<string, unknown>;
  owes: readonly OutboxEntry[];
}

/**
 * Makes a transition: one conditional update writes the state, the answer and the events together (docs/guarantees.md#transitions). Returns the interaction
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

/** The event with the new state of an interaction for the person who used it (docs/behavior/interactions.md#state-for-the-person). */
export function updateEntry(platform: Platform, { _id: id, channelId }: InteractionDoc, state: InteractionState): OutboxEntry {
  const data: EventData<'INTERACTION_UPDATE'> = { id, channelId, state };
  return { id: platform.ids.next(), name: 'INTERACTION_UPDATE', data };
}

/** The interaction as it stands; 404 when there is none any more. */
export async function readInteraction(platform: Platform, id: string): Promise<InteractionDoc> {
  const found = await platform.db.interactions.findOne({ _id: id }).lean();
  return found ?? refuse('not_found', { what: 'interaction' });
}

/** Whether the window of `expression` is open for the interaction, by the database's clock. */
export async function isDuring(platform: Platform, id: string, expression: object): Promise<boolean> {
  return (await platform.db.interactions.exists({ _id: id, $expr: trusted(expression) })) !== null;
}

/** Ends an interaction that got no answer in 3 seconds; null when it was answered, was ended already, or has time left. */
export function moveToExpired(platform: Platform, interaction: InteractionDoc): Promise<InteractionDoc | null> {
  const owes = [updateEntry(platform, interaction, 'expired')];
  return move(platform, interaction._id, { from: 'created', during: windows.late, set: { state: 'expired' }, owes });
}

/** `moveToExpired` for a request that finds the interaction late (docs/guarantees.md#expiry). A worker sends the event to the person. */
export async function expireLazily(platform: EnqueuePlatform, interaction: InteractionDoc): Promise<InteractionDoc | null> {
  const expired = await moveToExpired(platform, interaction);
  if (expired) platform.nudge('relay-interaction', { interactionId: interaction._id });
  return expired;
}

/** The interaction with its state as it is by the clock: one that is past its time is ended here. */
export async function settleState(platform: EnqueuePlatform, interaction: InteractionDoc): Promise<InteractionDoc> {
  if (interaction.state !== 'created') return interaction;
  return (await expireLazily(platform, interaction)) ?? readInteraction(platform, interaction._id);
}
