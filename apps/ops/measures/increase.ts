import type { Sample } from './exposition.ts';

/** How much a counter grew between two readings. */
export interface Increase {
  sample: Sample;
  by: number;
}

const keyOf = ({ name, labels }: Sample): string =>
  JSON.stringify([name, ...Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))]);

/**
 * Creates a function that compares each reading with the previous one, and returns null for the first. A counter that fell has restarted at 0. A new counter of
 * a known process started at 0. The counters of a new process count only from its second reading on, because it may have run for days before the first.
 */
export function createIncreases(): (counters: readonly Sample[]) => Increase[] | null {
  let before: Map<string, number> | null = null;
  let processes = new Set<string>();
  return (counters) => {
    const known = before;
    const knownProcesses = processes;
    const keyed = counters.map((sample) => [keyOf(sample), sample] as const);
    before = new Map(keyed.map(([key, { value }]) => [key, value]));
    processes = new Set(counters.map(({ labels }) => labels.process ?? ''));
    if (!known) return null;
    return keyed.flatMap(([key, sample]) => {
      if (!knownProcesses.has(sample.labels.process ?? '')) return [];
      const last = known.get(key) ?? 0;
      const by = sample.value < last ? sample.value : sample.value - last;
      // A bucket without growth is kept, because its bound is where the next bucket begins.
      return by > 0 || sample.labels.le !== undefined ? [{ sample, by }] : [];
    });
  };
}
