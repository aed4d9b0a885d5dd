import { groupBy } from '../../base/group-by.ts';
import type { Appended, Confirm } from './confirm.ts';

/** How soon after one another acknowledgements are written, in milliseconds: what comes meanwhile is written together. */
const everyMs = 100;

/**
 * Takes relayed events out of their outbox: calls `write`, once they are confirmed to be in the log. Batches with the same `write` that come close together are
 * written by one call. Rejects when they are not confirmed, or not written: they are relayed again then, which their marks make harmless.
 */
export type Acknowledge = <B>(appended: readonly Appended[], batch: B, write: (batches: B[]) => Promise<void>) => Promise<void>;

interface Waiting {
  appended: readonly Appended[];
  batch: unknown;
  write: (batches: never[]) => Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Acknowledges what `confirm` confirms. */
export function createAcknowledge(confirm: Confirm): Acknowledge {
  let waiting: Waiting[] = [];
  let flushedAt = Number.NEGATIVE_INFINITY;

  /** A partition whose replicas do not confirm holds up no other. */
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
