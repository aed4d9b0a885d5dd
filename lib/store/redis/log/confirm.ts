import { setTimeout as sleep } from 'node:timers/promises';
import { groupBy } from '../../../base/group-by.ts';
import type { LogState } from '../../mongo/log-state.ts';
import type { RedisClient } from '../redis.ts';
import { type Epochs, getEpoch } from './epochs.ts';
import type { Keys } from './keys.ts';

/** How long one WAIT for a replica lasts, how long it is retried, and the wait between two tries, in milliseconds. */
const replicaWaitMs = 500;
const confirmTimeoutMs = 2_000;
const retryDelayMs = 50;

/** Events that were appended to a partition: their highest number in one epoch, and `appendEpoch`, the epoch at the time of the append. */
export interface Appended {
  partition: number;
  number: number;
  appendEpoch: number;
}

/**
 * Resolves once events may be acknowledged: a replica has them, if Redis has replicas, and their highest numbers are stored in the database as evidence.
 * Rejects when the replica does not have them within 2 s, or when Redis has lost the events. They are then relayed again.
 */
export type Confirm = (appended: readonly Appended[]) => Promise<void>;

/** The highest of `numbers` for each epoch. */
export function findHighestPerEpoch(numbers: readonly number[]): number[] {
  const highest = new Map<number, number>();
  for (const number of numbers) highest.set(getEpoch(number), Math.max(number, highest.get(getEpoch(number)) ?? 0));
  return [...highest.values()];
}

/** The events are not in the log any more, so it is useless to retry. */
class EventsLost extends Error {}

/** Binds `confirm` to `redis`, which must be a connection of its own because WAIT blocks it. */
export function createConfirm(
  redis: RedisClient,
  keys: Keys,
  logState: Pick<LogState, 'recordAcknowledged'>,
  epochs: Pick<Epochs, 'acknowledge'>,
): Confirm {
  /** The partitions whose master reported a replica last time. */
  const replicated = new Set<number>();

  /**
   * Whether the log has these numbers and, if there are replicas, one of them has them too. One master answers the whole pipeline. The SET comes after the
   * appends, so a replica that has the SET has everything before it.
   */
  const isConfirmed = async (partition: number, numbers: readonly number[]): Promise<boolean> => {
    const prefix = keys.partitionPrefix(partition);
    const shouldWait = replicated.has(partition);
    const replies = await redis
      .pipeline()
      .get(`${prefix}n`)
      .hgetall(`${prefix}ends`)
      .set(`${prefix}confirmed`, Math.max(...numbers))
      .info('replication')
      .wait(shouldWait ? 1 : 0, replicaWaitMs)
      .exec();
    const [lastNumber, ends, , info, confirmed] = (replies ?? []).map(([error, reply]) => {
      if (error) throw error;
      return reply;
    });
    const getLastNumber = (epoch: number): number =>
      Number(epoch === getEpoch(Number(lastNumber)) ? lastNumber : (ends as Record<string, string>)[epoch]);
    if (!numbers.every((number) => number <= getLastNumber(getEpoch(number)))) throw new EventsLost('Redis lost the appended events');
    if (/connected_slaves:0\b/.test(String(info))) {
      replicated.delete(partition);
      return true;
    }
    replicated.add(partition);
    return shouldWait ? Number(confirmed) > 0 : isConfirmed(partition, numbers);
  };

  const confirmPartition = async (partition: number, numbers: readonly number[]): Promise<void> => {
    for (const deadlineMs = performance.now() + confirmTimeoutMs; ; await sleep(retryDelayMs)) {
      try {
        if (await isConfirmed(partition, numbers)) return;
      } catch (error) {
        if (error instanceof EventsLost) throw error;
        // A pipeline does not follow MOVED, but a single command does and updates the slots.
        await redis.get(`${keys.partitionPrefix(partition)}n`).catch(() => undefined);
      }
      if (performance.now() > deadlineMs) throw new Error(`no replica of partition ${partition} has confirmed the events in time`);
    }
  };

  return async (appended) => {
    if (appended.length === 0) return;
    const byPartition = groupBy(appended, ({ partition }) => partition);
    const numbersByPartition = [...byPartition].map(
      ([partition, appendedInPartition]) => [partition, findHighestPerEpoch(appendedInPartition.map(({ number }) => number))] as const,
    );
    await Promise.all(numbersByPartition.map(([partition, numbers]) => confirmPartition(partition, numbers)));
    const highest = new Map(numbersByPartition.map(([partition, numbers]) => [partition, Math.max(...numbers)]));
    for (const [partition, number] of highest) epochs.acknowledge(partition, number);
    await logState.recordAcknowledged(highest);
  };
}
