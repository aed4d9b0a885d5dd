import type { InteractionDoc } from '../store/models/interaction.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { deliverInteraction } from './interaction-delivery.ts';
import { expireInteraction, windows } from './interaction-states.ts';

/** How old undelivered events are when the sweep takes them, in milliseconds: their job was lost or is late. */
const sweepAfterMs = 2_000;
/** How many interactions one sweep takes, and how many at once. */
const sweepMax = 500;
const atOnce = 8;

/** Runs `work` for each of `items`, some at once; one that fails does not hold up the others, and the first fault is thrown at the end. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items].reverse();
  const faults: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop())
      await work(item).catch((error: unknown) => {
        faults.push(error);
      });
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  if (faults.length) throw faults[0];
}

const find = async (platform: WorkerPlatform, filter: object, sort: Record<string, 1>): Promise<InteractionDoc[]> =>
  (await platform.db.interactions.collection.find(filter as never, { sort, limit: sweepMax }).toArray()) as unknown as InteractionDoc[];

/**
 * What the sweep of every second does for interactions (quality 3), without the queue and by the database's clock: ends those that got no answer in 3 s, and
 * delivers what is owed for more than 2 s. An answer whose message does not stand yet always owes an event, so it is among these.
 */
export async function sweepInteractions(platform: WorkerPlatform): Promise<void> {
  const unanswered = await find(platform, { state: 'created', $expr: windows.late }, { createdAt: 1 });
  await each(unanswered, async (interaction) => {
    if (await expireInteraction(platform, interaction)) await deliverInteraction(platform, interaction._id);
  });
  const old = { $lte: ['$obAt', { $subtract: ['$$NOW', sweepAfterMs] }] };
  const owing = await find(platform, { obAt: { $exists: true }, $expr: old }, { obAt: 1 });
  await each(owing, (interaction) => deliverInteraction(platform, interaction._id));
}
