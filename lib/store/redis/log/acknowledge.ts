import { groupBy } from '../../../base/group-by.ts';
import type { Appended, Confirm } from './confirm.ts';

/** The minimum time between two writes of acknowledgements, in milliseconds. Those that come in between are written together. */
const minIntervalMs = 100;

/**
 * Acknowledges relayed events: once `appended` is confirmed to be in the log, it calls `write`, which removes the events of `batch` from their outbox. Batches
 * with the same `write` that come within 100 ms are written by one call. Rejects when the events are not confirmed or not written. They are then relayed again,
 * which is harmless because of their marks.
 */
export type Acknowledge = <B>(appended: readonly Appended[], batch: B, write: (batches: B[]) => Promise<void>) => Promise<void>;

interface PendingBatch {
  appended: readonly Appended[];
  batch: unknown;
  /** It is called only with batches that came with it, so they have the type that it takes. */
  write: (batches: unknown[]) => Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Creates `acknowledge`, which acknowledges the events that `confirm` confirms. */
export function createAcknowledge(confirm: Confirm): Acknowledge {
  let pendingBatches: PendingBatch[] = [];
  let flushedAt = Number.NEGATIVE_INFINITY;

  /** Acknowledges the batches of the same partitions, so that a partition whose replicas do not confirm delays no other. */
  const acknowledgeGroup = async (batches: readonly PendingBatch[]): Promise<void> => {
    try {
      await confirm(batches.flatMap(({ appended }) => appended));
    } catch (error) {
      for (const { reject } of batches) reject(error);
      return;
    }
    for (const [write, group] of groupBy(batches, (item) => item.write))
      void write(group.map(({ batch }) => batch)).then(
        () => group.forEach(({ resolve }) => resolve()),
        (error: unknown) => group.forEach(({ reject }) => reject(error)),
      );
  };
  const flush = (): void => {
    const batches = pendingBatches;
    pendingBatches = [];
    flushedAt = performance.now();
    const toPartitionsKey = ({ appended }: PendingBatch): string => [...new Set(appended.map(({ partition }) => partition))].join();
    for (const group of groupBy(batches, toPartitionsKey).values()) void acknowledgeGroup(group);
  };
  return (appended, batch, write) =>
    new Promise((resolve, reject) => {
      if (pendingBatches.push({ appended, batch, write: write as PendingBatch['write'], resolve, reject }) > 1) return;
      setTimeout(flush, Math.max(0, flushedAt + minIntervalMs - performance.now()));
    });
}
