import type { Metrics } from '../lib/base/metrics.ts';
import type { Running } from '../lib/base/process.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import { handlers } from './handlers.ts';
import { imageEncoder } from './image-encoder.ts';
import { startSweeps } from './sweep.ts';

/**
 * Runs the jobs of every queue, and the sweeps. `close` takes no more jobs and waits for the running ones. If the process ends before a job does, the job's
 * lock expires and another worker runs it.
 */
export function startWorker(platform: WorkerPlatform, metrics: Metrics): Running {
  const consumers = platform.startConsumers(handlers, (job, outcome, ms) => metrics.jobs.observe({ job, outcome }, ms / 1000));
  const sweeps = startSweeps(platform);
  return {
    close: async () => {
      await Promise.all([consumers.close(), sweeps.close()]);
      await imageEncoder.close();
    },
  };
}
