import { forEachLimit } from '../../base/for-each-limit.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { expireInteraction, sweepOutbox } from '../events/relay.ts';
import { windows } from './interaction-states.ts';

/** How many interactions one sweep takes. */
const sweepMax = 500;
/**
 * The age from which the sweep enqueues an interaction that was not posted to its endpoint, in milliseconds. It is short, so that the interaction can still be
 * answered.
 */
const unpostedMs = 500;
const sweepConcurrency = 8;

const findInteractions = async (platform: WorkerPlatform, filter: object, sort: Record<string, 1>): Promise<InteractionDoc[]> =>
  await platform.db.interactions.find(filter, { sort, limit: sweepMax }).toArray();

/** Enqueues interactions that were not sent to their endpoint yet (docs/guarantees.md#sweeps). This sweep is separate because these have the least time. */
export async function sweepUnposted(platform: WorkerPlatform): Promise<void> {
  const waiting = { $and: [windows.firstAnswer, { $lte: ['$createdAt', { $subtract: ['$$NOW', unpostedMs] }] }] };
  const unposted = await findInteractions(
    platform,
    { state: 'created', endpoint: true, deliveredAt: null, $expr: waiting },
    { createdAt: 1 },
  );
  for (const { _id } of unposted) platform.wake('post-interaction', { interactionId: _id });
}

/** Expires, without the queue, the interactions that got no answer in 3 s by the database's clock. Then relays overdue events. */
export async function sweepInteractions(platform: WorkerPlatform): Promise<void> {
  const unanswered = await findInteractions(platform, { state: 'created', $expr: windows.late }, { createdAt: 1 });
  const owned = unanswered.filter(({ _id }) => platform.isOwner(_id));
  await forEachLimit(owned, sweepConcurrency, (interaction) => expireInteraction(platform, interaction));
  await sweepOutbox(platform, 'interaction');
}
