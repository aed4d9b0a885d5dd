import { type JobName, jobs } from '../contract/jobs.ts';
import type { Enqueue } from './queue.ts';

/**
 * How long after a nudge the next one for the same job waits, in milliseconds, unless its entry says otherwise. A quiet channel is drained at once; a busy
 * one in batches, as one drain takes all there is: that halves what a post costs the whole machine, for at most so much delay of the event.
 */
const spacingMs = 25;

const spacingOf = (name: JobName): number => (jobs[name] as { spacingMs?: number }).spacingMs ?? spacingMs;

/** Asks for a job without waiting and without failing: the stored document is the truth, and a sweep finds what was not nudged (quality 2). */
export type Nudge = (...job: Parameters<Enqueue>) => void;

/** Nudges by `enqueue`; those of one job that come close together become one more, at the end of the spacing. */
export function createNudge(enqueue: Enqueue): Nudge {
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
    const added = enqueue(name, data, priority).catch(() => undefined);
    setTimeout(() => {
      void added.then(() => {
        spaced.delete(key);
        if (mine.again) nudge(name, data, priority);
      });
    }, spacingOf(name));
  };
  return nudge;
}
