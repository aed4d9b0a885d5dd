import type { Config } from '../../../config/index.ts';
import { type QueueName, queues } from '../../contract/jobs.ts';
import type { Keys } from '../redis/log/keys.ts';

/**
 * Where the jobs of a queue are in Redis: one part, with a hash tag of its own, or a part in each partition. BullMQ has a queue for each part: the first has the
 * name of the queue, the others have the number of their partition added.
 */
export function getParts({ REDIS_PREFIX }: Config, keys: Keys, name: QueueName): { part: string; prefix: string }[] {
  if (!queues[name].isPartitioned || keys.partitions === 1) return [{ part: name, prefix: `{${REDIS_PREFIX}-queue-${name}}` }];
  return Array.from({ length: keys.partitions }, (_, at) => ({
    part: at === 0 ? name : `${name}-${at}`,
    prefix: `${keys.partitionPrefix(at)}queue`,
  }));
}

/** The name of the queue that a BullMQ queue is a part of. */
export const getQueueName = (part: string): QueueName => part.replace(/-\d+$/, '') as QueueName;
