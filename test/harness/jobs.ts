import type { Config } from '../../config/index.ts';
import type { QueueName } from '../../lib/contract/jobs.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import { getQueuePrefix, type Handlers } from '../../lib/store/queue/queue.ts';
import type { OnWorkEnded } from '../../lib/store/redis/wakes.ts';
import { handlers } from '../../workers/handlers.ts';
import { connectRedis } from './stores.ts';

/** Runs the queued jobs with `own` handlers until closed. All other jobs do nothing. */
export function consumeJobs(
  worker: WorkerPlatform,
  own: Partial<Handlers<WorkerPlatform>>,
  onEnded: OnWorkEnded = () => undefined,
): { close(): Promise<void> } {
  const noops = Object.fromEntries(Object.keys(handlers).map((name) => [name, () => Promise.resolve()]));
  return worker.startConsumers({ ...(noops as unknown as Handlers<WorkerPlatform>), ...own }, onEnded);
}

/** Ends the locks of the running jobs of a queue, which otherwise end 5 s after their worker was killed. No other worker may run a job of it. */
export async function expireLocks(config: Config, queue: QueueName): Promise<void> {
  const redis = await connectRedis(config);
  try {
    const locks = await redis.keys(`${getQueuePrefix(config, queue)}:${queue}:*:lock`);
    if (locks.length > 0) await redis.del(locks);
  } finally {
    redis.close();
  }
}
