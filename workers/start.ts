import type { Metrics } from '../lib/base/metrics.ts';
import type { Running } from '../lib/base/process.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import { handlers } from './handlers.ts';
import { imageEncoder } from './image-encoder.ts';
import { startSweeps } from './sweep.ts';

/** Runs every queue and the sweeps. `close` takes no more jobs and lets those under way end; what does not is handed back by its lock. */
export function startWorker(platform: WorkerPlatform, metrics: Metrics): Running {
  const consumers = platform.consume(handlers, (job, outcome, ms) => metrics.jobs.observe({ job, outcome }, ms / 1000));
  const sweeps = startSweeps(platform);
  return {
    close: async () => {
      await Promise.all([consumers.close(), sweeps.close()]);
      await imageEncoder.close();
    },
  };
}
