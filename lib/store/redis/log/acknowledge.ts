import { groupBy } from '../../../base/group-by.ts';
import type { Appended, Confirm } from './confirm.ts';

/** The minimum time between two writes of acknowledgements, in milliseconds. Those that come in between are written together. */
const everyMs = 100;

/**
 * Acknowledges relayed events: once `appended` is confirmed to be in the log, it calls `write`, which removes the events of `batch` from their outbox. Batches
 * with the same `write` that come within 100 ms are written by one call. Rejects when the events are not confirmed or not written. They are then relayed again,
 * which is harmless because of their marks.
 */
export type Acknowledge = <B>(appended: readonly Appended[], batch: B, write: (batches: B[]) => Promise<void>) => Promise<void>;

interface Waiting {
  appended: readonly Appended[];
  batch: unknown;
  write: (batches: never[]) => Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Creates `acknowledge`, which acknowledges the events that `confirm` confirms. */
export function createAcknowledge(confirm: Confirm): Acknowledge {
  let waiting: Waiting[] = [];
  let flushedAt = Number.NEGATIVE_INFINITY;

  /** Acknowledges the batches of the same partitions, so that a partition whose replicas do not confirm delays no other. */
  const acknowledgeGroup = async (items: readonly Waiting[]): Promise<void> => {
    try {
      await confirm(items.flatMap(({ appended }) => appended));
    } catch (error) {
      for (const { reject } of items) reject(error);
      return;
    }
    for (const [write, some] of groupBy(items, (item) => item.write))
      void write(some.map(({ batch }) => batch as never)).then(
        () => some.forEach(({ resolve }) => resolve()),
        (error: unknown) => some.forEach(({ reject }) => reject(error)),
      );
  };
  const flush = (): void => {
    const items = waiting;
    waiting = [];
    flushedAt = performance.now();
    const partitionsOf = ({ appended }: Waiting): string => [...new Set(appended.map(({ partition }) => partition))].join();
    for (const group of groupBy(items, partitionsOf).values()) void acknowledgeGroup(group);
  };
  return (appended, batch, write) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ appended, batch, write, resolve, reject }) > 1) return;
      setTimeout(flush, Math.max(0, flushedAt + everyMs - performance.now()));
    });
}
