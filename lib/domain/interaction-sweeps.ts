import { forEachAtOnce } from '../base/at-once.ts';
import type { InteractionDoc } from '../store/models/interaction.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { deliverInteraction, expireInteraction } from './interaction-delivery.ts';
import { windows } from './interaction-states.ts';

/** How old undelivered events are when the sweep takes them, in milliseconds: their job was lost or is late. */
const sweepAfterMs = 2_000;
/** How many interactions one sweep takes, and how many at once. */
const sweepMax = 500;
/** How old an interaction is that was not posted to its endpoint yet, when the sweep nudges it: early enough to be answered still. In milliseconds. */
const unpostedMs = 500;
const atOnce = 8;

const find = async (platform: WorkerPlatform, filter: object, sort: Record<string, 1>): Promise<InteractionDoc[]> =>
  (await platform.db.interactions.collection.find(filter as never, { sort, limit: sweepMax }).toArray()) as unknown as InteractionDoc[];

/** Nudges the interactions that were not posted to their endpoint yet (quality 3); a sweep of its own, as they have the least time. */
export async function sweepUnposted(platform: WorkerPlatform): Promise<void> {
  const waiting = { $and: [windows.answering, { $lte: ['$createdAt', { $subtract: ['$$NOW', unpostedMs] }] }] };
  const unposted = await find(platform, { state: 'created', endpoint: true, deliveredAt: null, $expr: waiting }, { createdAt: 1 });
  for (const { _id } of unposted) platform.nudge('post-interaction', { interactionId: _id });
}

/**
 * What the sweep of every second does for interactions (quality 3), without the queue and by the database's clock: ends those that got no answer in 3 s, and
 * delivers what is owed for more than 2 s. An answer whose message does not stand yet always owes an event, so it is among these.
 */
export async function sweepInteractions(platform: WorkerPlatform): Promise<void> {
  const unanswered = await find(platform, { state: 'created', $expr: windows.late }, { createdAt: 1 });
  await forEachAtOnce(unanswered, atOnce, (interaction) => expireInteraction(platform, interaction));
  const old = { $lte: ['$obAt', { $subtract: ['$$NOW', sweepAfterMs] }] };
  const owing = await find(platform, { obAt: { $exists: true }, $expr: old }, { obAt: 1 });
  await forEachAtOnce(owing, atOnce, (interaction) => deliverInteraction(platform, interaction._id));
}
