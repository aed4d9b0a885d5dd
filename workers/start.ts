import type { Metrics } from '../lib/base/metrics.ts';
import type { Running } from '../lib/base/process.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import type { OnWorkEnded } from '../lib/store/redis/wakes.ts';
import { handlers, wakeHandlers } from './handlers.ts';
import { imageEncoder } from './image-encoder.ts';
import { startSweeps } from './sweep.ts';

/** After how long without a try to record its heartbeat a worker counts as stuck, in milliseconds. */
const defaultStuckMs = 30_000;

/** A running worker. */
export interface Worker extends Running {
  /** What is wrong with it: a queue that it no longer serves, or sweeps that are stuck. Null if nothing is. */
  findFault(): string | null;
}

/**
 * Runs the jobs of every queue, and the sweeps. `close` takes no more jobs and waits for the running ones. If the process ends before a job does, the job's
 * lock expires and another worker runs it.
 */
export function startWorker(platform: WorkerPlatform, metrics: Metrics, stuckMs = defaultStuckMs): Worker {
  const onEnded: OnWorkEnded = (job, outcome, ms) => metrics.jobs.observe({ job, outcome }, ms / 1000);
  const consumers = platform.startConsumers(handlers, onEnded);
  const wakes = platform.startWakes(wakeHandlers, onEnded);
  const sweeps = startSweeps(platform);
  return {
    findFault: () => {
      const stopped = consumers.findStopped();
      if (stopped.length > 0) return `the consumers of these queues have stopped: ${stopped.join(', ')}`;
      return sweeps.getHeartbeatAgeMs() > stuckMs ? `the sweeps are stuck: no heartbeat was tried for ${stuckMs / 1000} s` : null;
    },
    close: async () => {
      await Promise.all([consumers.close(), wakes.close(), sweeps.close()]);
      await imageEncoder.close();
    },
  };
}
