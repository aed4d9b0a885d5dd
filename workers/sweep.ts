import { drainChannel, overdueChannels } from '../lib/domain/delivery.ts';
import { sweepInteractions } from '../lib/domain/interaction-sweeps.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** How many channels the sweep drains at once: the jobs keep most of the machine. */
const channelsAtOnce = 4;

async function sweepChannels(platform: WorkerPlatform): Promise<void> {
  const waiting = await overdueChannels(platform);
  const drainNext = async (): Promise<void> => {
    for (let channelId = waiting.pop(); channelId !== undefined; channelId = waiting.pop()) await drainChannel(platform, channelId);
  };
  await Promise.all(Array.from({ length: channelsAtOnce }, drainNext));
}

/**
 * Looks every second, without the queue, for work whose nudge was lost: channels and interactions that owe events for more than 2 s, and interactions past
 * their time (quality 2, Sweep). A fault waits for the next second and is logged once in 10 s. `close` ends the one under way.
 */
export function startSweeps(platform: WorkerPlatform, everyMs = 1_000): { close(): Promise<void> } {
  let closed = false;
  let loggedAt = Number.NEGATIVE_INFINITY;
  const once = async (what: string, sweep: () => Promise<void>): Promise<void> => {
    try {
      await sweep();
    } catch (error) {
      if (performance.now() - loggedAt > 10_000) platform.log.warn({ sweep: what, err: error }, 'sweep failed');
      loggedAt = performance.now();
    }
  };
  const run = async (): Promise<void> => {
    await Promise.all([
      once('channels', () => sweepChannels(platform)),
      once('interactions', () => sweepInteractions(platform)),
      once('beat', () => platform.beat()),
    ]);
    if (!closed) timer = setTimeout(next, everyMs);
  };
  let under: Promise<void> = Promise.resolve();
  const next = (): void => {
    under = run();
  };
  let timer = setTimeout(next, 0);
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await under;
      clearTimeout(timer);
    },
  };
}
