import { forEachLimit } from '../../base/for-each-limit.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { createInteractionBatch, readWithTimeLeft } from '../interactions/outbox.ts';
import { markExpired, windows } from '../interactions/states.ts';
import { relayBatch, sweepOutbox } from '../relay/relay.ts';

/**
 * Appends the events of an interaction that has just been written, without reading it again. `startMs` is a moment before that, by the process' monotonic clock.
 * Resolves with their pending acknowledgement.
 */
export async function appendInteraction(
  platform: WorkerPlatform,
  interaction: InteractionDoc,
  startMs: number,
): Promise<{ acknowledged: Promise<unknown> }> {
  return relayBatch(platform, await createInteractionBatch(platform, interaction), startMs);
}

/** `appendInteraction`, which also waits for the acknowledgement. */
export async function relayInteraction(platform: WorkerPlatform, interaction: InteractionDoc, startMs: number): Promise<void> {
  await (await appendInteraction(platform, interaction, startMs)).acknowledged;
}

/** Expires an interaction whose 3 seconds are over, and relays that. False if it was answered or expired before, or has time left. */
export async function expireInteraction(platform: WorkerPlatform, interaction: InteractionDoc): Promise<boolean> {
  const startMs = performance.now();
  const expired = await markExpired(platform, interaction);
  if (expired) await relayInteraction(platform, expired, startMs);
  return expired !== null;
}

/** Expires the interaction if its 3 seconds are over. Returns the milliseconds that are left if it is too early, else null. */
export async function expireUnanswered(platform: WorkerPlatform, id: string): Promise<number | null> {
  const found = await readWithTimeLeft(platform, { _id: id, state: 'created' });
  if (found?.leftMs === 0) await expireInteraction(platform, found);
  return found?.leftMs || null;
}

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
  for (const { _id, applicationId, serverId, channelId } of unposted)
    platform.jobs.tryEnqueue('post-interaction', { interactionId: _id, applicationId, placeId: serverId ?? channelId });
}

/** Expires, without the queue, the interactions that got no answer in 3 s by the database's clock. Then relays overdue events. */
export async function sweepInteractions(platform: WorkerPlatform): Promise<void> {
  const unanswered = await findInteractions(platform, { state: 'created', $expr: windows.late }, { createdAt: 1 });
  const owned = unanswered.filter(({ _id }) => platform.shares.isOwner(_id));
  await forEachLimit(owned, sweepConcurrency, (interaction) => expireInteraction(platform, interaction));
  await sweepOutbox(platform, 'interaction');
}
