import { setTimeout as pause } from 'node:timers/promises';
import { groupBy } from '../../../base/group-by.ts';
import type { RedisClient } from '../redis.ts';
import { type Epochs, epochOf } from './epochs.ts';
import type { Evidence } from './evidence.ts';
import type { Keys } from './keys.ts';

/** How long one WAIT for a replica lasts, how long it is retried, and the wait between two tries, in milliseconds. */
const waitMs = 500;
const confirmMs = 2_000;
const againMs = 50;

/** Events that were appended to a partition: their highest number in one epoch, and `during`, the epoch at the time of the append. */
export interface Appended {
  partition: number;
  number: number;
  during: number;
}

/**
 * Resolves once events may be acknowledged: a replica has them, if Redis has replicas, and their highest numbers are stored in the database as evidence.
 * Rejects when the replica does not have them within 2 s, or when Redis has lost the events. They are then relayed again.
 */
export type Confirm = (appended: readonly Appended[]) => Promise<void>;

/** The highest of `numbers` for each epoch. */
export function highestOfEpochs(numbers: readonly number[]): number[] {
  const highest = new Map<number, number>();
  for (const number of numbers) highest.set(epochOf(number), Math.max(number, highest.get(epochOf(number)) ?? 0));
  return [...highest.values()];
}

/** The events are not in the log any more, so it is useless to retry. */
class EventsLost extends Error {}

/** Binds `confirm` to `redis`, which must be a connection of its own because WAIT blocks it. */
export function createConfirm(
  redis: RedisClient,
  keys: Keys,
  evidence: Pick<Evidence, 'note'>,
  epochs: Pick<Epochs, 'acknowledge'>,
): Confirm {
  /** The partitions whose master reported a replica last time. */
  const replicated = new Set<number>();

  /**
   * Whether the log has these numbers and, if there are replicas, one of them has them too. One master answers the whole pipeline. The SET comes after the
   * appends, so a replica that has the SET has everything before it.
   */
  const isConfirmed = async (partition: number, numbers: readonly number[]): Promise<boolean> => {
    const at = keys.partition(partition);
    const isWaiting = replicated.has(partition);
    const replies = await redis
      .pipeline()
      .get(`${at}n`)
      .hgetall(`${at}ends`)
      .set(`${at}confirmed`, Math.max(...numbers))
      .info('replication')
      .wait(isWaiting ? 1 : 0, waitMs)
      .exec();
    const [last, ends, , info, confirmed] = (replies ?? []).map(([error, reply]) => {
      if (error) throw error;
      return reply;
    });
    const lastOf = (epoch: number): number => Number(epoch === epochOf(Number(last)) ? last : (ends as Record<string, string>)[epoch]);
    if (!numbers.every((number) => number <= lastOf(epochOf(number)))) throw new EventsLost('the appended events were lost');
    if (/connected_slaves:0\b/.test(String(info))) {
      replicated.delete(partition);
      return true;
    }
    replicated.add(partition);
    return isWaiting ? Number(confirmed) > 0 : isConfirmed(partition, numbers);
  };

  const confirmPartition = async (partition: number, numbers: readonly number[]): Promise<void> => {
    for (const until = performance.now() + confirmMs; ; await pause(againMs)) {
      try {
        if (await isConfirmed(partition, numbers)) return;
      } catch (error) {
        if (error instanceof EventsLost) throw error;
        // A pipeline does not follow MOVED, but a single command does and updates the slots.
        await redis.get(`${keys.partition(partition)}n`).catch(() => undefined);
      }
      if (performance.now() > until) throw new Error(`no replica of partition ${partition} has confirmed the events in time`);
    }
  };

  return async (appended) => {
    if (appended.length === 0) return;
    const byPartition = groupBy(appended, ({ partition }) => partition);
    const numbersIn = [...byPartition].map(([partition, some]) => [partition, highestOfEpochs(some.map(({ number }) => number))] as const);
    await Promise.all(numbersIn.map(([partition, numbers]) => confirmPartition(partition, numbers)));
    const highest = new Map(numbersIn.map(([partition, numbers]) => [partition, Math.max(...numbers)]));
    for (const [partition, number] of highest) epochs.acknowledge(partition, number);
    await evidence.note(highest);
  };
}
