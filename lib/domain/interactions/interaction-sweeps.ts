import { forEachAtOnce } from '../../base/at-once.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { sweepOutbox } from '../events/relay.ts';
import { expireInteraction } from './interaction-outbox.ts';
import { windows } from './interaction-states.ts';

/** How many interactions one sweep takes. */
const sweepMax = 500;
/**
 * The age from which the sweep enqueues an interaction that was not posted to its endpoint, in milliseconds. It is short, so that the interaction can still be
 * answered.
 */
const unpostedMs = 500;
const atOnce = 8;

const find = async (platform: WorkerPlatform, filter: object, sort: Record<string, 1>): Promise<InteractionDoc[]> =>
  (await platform.db.interactions.collection.find(filter as never, { sort, limit: sweepMax }).toArray()) as unknown as InteractionDoc[];

/** Enqueues interactions that were not sent to their endpoint yet (docs/guarantees.md#sweeps). This sweep is separate because these have the least time. */
export async function sweepUnposted(platform: WorkerPlatform): Promise<void> {
  const waiting = { $and: [windows.answering, { $lte: ['$createdAt', { $subtract: ['$$NOW', unpostedMs] }] }] };
  const unposted = await find(platform, { state: 'created', endpoint: true, deliveredAt: null, $expr: waiting }, { createdAt: 1 });
  for (const { _id } of unposted) platform.nudge('post-interaction', { interactionId: _id });
}

/** Expires, without the queue, the interactions that got no answer in 3 s by the database's clock. Then relays overdue events. */
export async function sweepInteractions(platform: WorkerPlatform): Promise<void> {
  const unanswered = await find(platform, { state: 'created', $expr: windows.late }, { createdAt: 1 });
  await forEachAtOnce(unanswered, atOnce, (interaction) => expireInteraction(platform, interaction));
  await sweepOutbox(platform, 'interaction');
}
