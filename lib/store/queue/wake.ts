import { type JobName, jobs } from '../../contract/jobs.ts';
import type { Enqueue } from './queue.ts';
import type { Wake } from './residents.ts';

/**
 * The minimum time between two wakes for the same job, in milliseconds, unless the job's entry has its own. A quiet channel is relayed at once, a busy one in
 * batches. That halves the total cost of a post, and delays the event by at most this time.
 */
const spacingMs = 25;

const spacingOf = (name: JobName): number => (jobs[name] as { spacingMs?: number }).spacingMs ?? spacingMs;

/** Wakes a worker for a job, best effort: it neither waits nor fails. The document in the database is the truth, and a sweep finds work without a job. */
export type Nudge = (...job: Parameters<Enqueue>) => void;

/** Uses `wake`, and `enqueue` if no worker was woken. All calls for one job within its spacing become a single one at the end of the spacing. */
export function createNudge(wake: Wake, enqueue: Enqueue): Nudge {
  const spaced = new Map<string, { again: boolean }>();
  const nudge: Nudge = (name, data, priority) => {
    const key = `${name} ${Object.values(data).join(' ')}`;
    const recent = spaced.get(key);
    if (recent) {
      recent.again = true;
      return;
    }
    const mine = { again: false };
    spaced.set(key, mine);
    const added = wake(name, data)
      .then((isAwake) => (isAwake ? undefined : enqueue(name, data, priority)))
      .catch(() => undefined);
    setTimeout(() => {
      void added.then(() => {
        spaced.delete(key);
        if (mine.again) nudge(name, data, priority);
      });
    }, spacingOf(name));
  };
  return nudge;
}
