import type { JobName } from '../../contract/jobs.ts';
import { type Enqueue, getJobDefinition } from './queue.ts';
import type { WakeResident } from './residents.ts';

/**
 * The minimum time between two wakes for the same job, in milliseconds, unless the job's definition has its own. A quiet channel is relayed at once, a busy one
 * in batches. That halves the total cost of a post, and delays the event by at most this time.
 */
const defaultWakeIntervalMs = 25;

const getWakeIntervalMs = (name: JobName): number => getJobDefinition(name).wakeIntervalMs ?? defaultWakeIntervalMs;

/** Wakes a worker for a job, best effort: it neither waits nor fails. The document in the database is the truth, and a sweep finds work without a job. */
export type Wake = (...job: Parameters<Enqueue>) => void;

/** Uses `wakeResident`, and `enqueue` if no worker was woken. All calls for one job within its wake interval become a single one at the end of the interval. */
export function createWake(wakeResident: WakeResident, enqueue: Enqueue): Wake {
  const recentJobs = new Map<string, { isRepeatNeeded: boolean }>();
  const wake: Wake = (name, data, priority) => {
    const key = `${name} ${Object.values(data).join(' ')}`;
    const recent = recentJobs.get(key);
    if (recent) {
      recent.isRepeatNeeded = true;
      return;
    }
    const job = { isRepeatNeeded: false };
    recentJobs.set(key, job);
    const woken = wakeResident(name, data)
      .then((isWoken) => (isWoken ? undefined : enqueue(name, data, priority)))
      .catch(() => undefined);
    setTimeout(() => {
      void woken.then(() => {
        recentJobs.delete(key);
        if (job.isRepeatNeeded) wake(name, data, priority);
      });
    }, getWakeIntervalMs(name));
  };
  return wake;
}
