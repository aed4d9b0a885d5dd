import { type JobName, jobs } from '../contract/jobs.ts';
import type { Enqueue } from './queue.ts';
import type { Wake } from './residents.ts';

/**
 * How long after a wake the next one for the same job waits, in milliseconds, unless its entry says otherwise. A quiet channel is relayed at once, a busy one in
 * batches: that halves what a post costs the whole machine, for at most so much delay of the event.
 */
const spacingMs = 25;

const spacingOf = (name: JobName): number => (jobs[name] as { spacingMs?: number }).spacingMs ?? spacingMs;

/** Asks for a job without waiting and without failing: the stored document is the truth, and a sweep finds work that no job was made for. */
export type Nudge = (...job: Parameters<Enqueue>) => void;

/** Nudges by `wake`, or else by `enqueue`; those of one job that come close together become one more, at the end of the spacing. */
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
