import type { WorkerPlatform } from '../../lib/store/platform.ts';
import type { Handlers } from '../../lib/store/queue/queue.ts';
import type { OnWorkEnded } from '../../lib/store/redis/wakes.ts';
import { handlers } from '../../workers/handlers.ts';

/** Runs the queued jobs with `own` handlers until closed. All other jobs do nothing. */
export function consumeJobs(
  worker: WorkerPlatform,
  own: Partial<Handlers<WorkerPlatform>>,
  onEnded: OnWorkEnded = () => undefined,
): { close(): Promise<void> } {
  const noops = Object.fromEntries(Object.keys(handlers).map((name) => [name, () => Promise.resolve()]));
  return worker.startConsumers({ ...(noops as unknown as Handlers<WorkerPlatform>), ...own }, onEnded);
}
