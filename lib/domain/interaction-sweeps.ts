import { forEachAtOnce } from '../base/at-once.ts';
import type { InteractionDoc } from '../store/models/interaction.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { expireInteraction } from './interaction-outbox.ts';
import { windows } from './interaction-states.ts';
import { sweepOutbox } from './relay.ts';

/** How many interactions one sweep takes, and how many at once. */
const sweepMax = 500;
/** How old an interaction is that was not posted to its endpoint yet, when the sweep nudges it: early enough to be answered still. In milliseconds. */
const unpostedMs = 500;
const atOnce = 8;

const find = async (platform: WorkerPlatform, filter: object, sort: Record<string, 1>): Promise<InteractionDoc[]> =>
  (await platform.db.interactions.collection.find(filter as never, { sort, limit: sweepMax }).toArray()) as unknown as InteractionDoc[];

/** Enqueues interactions that were not sent to their endpoint yet (docs/guarantees.md#sweeps). A separate sweep, because they have the least time. */
export async function sweepUnposted(platform: WorkerPlatform): Promise<void> {
  const waiting = { $and: [windows.answering, { $lte: ['$createdAt', { $subtract: ['$$NOW', unpostedMs] }] }] };
  const unposted = await find(platform, { state: 'created', endpoint: true, deliveredAt: null, $expr: waiting }, { createdAt: 1 });
  for (const { _id } of unposted) platform.nudge('post-interaction', { interactionId: _id });
}

/** Ends, without the queue, the interactions that got no answer in 3 s, by the database's clock; then relays their overdue events. */
export async function sweepInteractions(platform: WorkerPlatform): Promise<void> {
  const unanswered = await find(platform, { state: 'created', $expr: windows.late }, { createdAt: 1 });
  await forEachAtOnce(unanswered, atOnce, (interaction) => expireInteraction(platform, interaction));
  await sweepOutbox(platform, 'interaction');
}
