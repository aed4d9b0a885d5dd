import type { Sample } from './exposition.ts';

/** How much a counter grew between two readings. */
export interface Increase {
  sample: Sample;
  by: number;
}

const keyOf = ({ name, labels }: Sample): string =>
  JSON.stringify([name, ...Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))]);

/**
 * Compares each reading with the one before; answers null at the first. A counter that fell began anew, one of a process that we knew and that was not there
 * began at 0. A process that was not there before counts from its second reading on: it may have run for days, out of our sight.
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
      // A bucket into which nothing came still says where the one above it begins.
      return by > 0 || sample.labels.le !== undefined ? [{ sample, by }] : [];
    });
  };
}
