import { Queue } from 'bullmq';
import type { Config } from '../../../config/index.ts';
import type { Logger } from '../../base/log.ts';
import type { Tracing } from '../../base/tracing.ts';
import { type JobData, type JobDefinition, type JobName, jobs, type QueueName, queues } from '../../contract/jobs.ts';
import type { RedisClient } from '../redis/redis.ts';
import { createAdmission, type HasRoom } from './admission.ts';

/**
 * Adds a job to its queue. Among waiting jobs, the one with the lowest `priority` number runs first. Rejects at once while Redis is unavailable. The job only
 * signals that there is work; the document in the database is the truth.
 */
export type Enqueue = <N extends JobName>(name: N, data: JobData<N>, options?: EnqueueOptions) => Promise<void>;

/** `priority`: its default is 0, which comes first. `delayMs`: by default that of the kind of job. */
interface EnqueueOptions {
  priority?: number | undefined;
  delayMs?: number;
}

/** Whether a job with this key is in its queue; only for jobs whose key is their id. Rejects at once while Redis is unavailable. */
export type IsQueued = <N extends JobName>(name: N, data: JobData<N>) => Promise<boolean>;

/** The number of jobs in a queue that wait for a worker. Rejects at once while Redis is unavailable. */
export type CountWaiting = (name: QueueName) => Promise<number>;

/**
 * What a job returns. Nothing or null: it is done. A number: it ran too early; it returns to its queue and runs again after that many milliseconds, which does
 * not count as a failed attempt. A function: the rest of the job, such as a long wait, which continues after the job has freed its slot in the queue. The job
 * itself must limit how many of them run at once.
 */
export type JobResult = void | null | number | (() => Promise<void>);

/** The handlers of all kinds of jobs; a missing one is a compile error. */
export type Handlers<P> = { [N in JobName]: (platform: P, data: JobData<N>) => Promise<JobResult> };

const definitions: { [N in JobName]: JobDefinition<JobData<N>> } = jobs;
/** The options of a kind of jobs. */
export const getJobDefinition = <N extends JobName>(name: N): JobDefinition<JobData<N>> => definitions[name];

/** Adds jobs to the queues, and reads the state of the queues. */
export interface Producer {
  /** Adds a job to its queue; resolves once it is there. Rejects while Redis is unavailable. */
  enqueue: Enqueue;
  /** Adds a job to its queue, best effort: it neither waits nor fails. A sweep finds work without a job. */
  tryEnqueue: (...job: Parameters<Enqueue>) => void;
  /** Removes a job that has become needless and does not run yet, best effort as `tryEnqueue`; only for jobs whose key is their id. */
  tryRemove: <N extends JobName>(name: N, data: JobData<N>) => void;
  /** Whether a job is in its queue; only for jobs whose key is their id. Rejects while Redis is unavailable. */
  isQueued: IsQueued;
  /** The number of jobs in a queue that wait for a worker. Rejects while Redis is unavailable. */
  countWaiting: CountWaiting;
  /** Whether a queue has neither waiting nor delayed jobs. Rejects at once while Redis is unavailable. */
  isQueueEmpty: (name: QueueName) => Promise<boolean>;
  /** All queues, for the operators' pages. */
  queues: Queue[];
  /** Whether a queue takes a job of those that share it. Rejects while Redis is unavailable. */
  hasRoom: HasRoom;
  close(): Promise<void>;
}

/** The prefix of a queue's keys in Redis, with the hash tag that keeps them in one slot. */
export const getQueuePrefix = ({ REDIS_PREFIX }: Config, name: QueueName): string => `{${REDIS_PREFIX}-queue-${name}}`;

/** Opens the producing side of every queue. `redis` must have the options `failFast`; it stays open when the producer is closed. */
export function openProducer(config: Config, log: Logger, redis: RedisClient, tracing: Tracing, nowMs: () => number): Producer {
  const open = (name: QueueName): Queue => {
    const queue = new Queue(name, { connection: redis, prefix: getQueuePrefix(config, name), skipVersionCheck: true });
    queue.on('error', (error) => log.debug({ queue: name, err: error.message }, 'queue connection error'));
    return queue;
  };
  const opened = Object.fromEntries((Object.keys(queues) as QueueName[]).map((name) => [name, open(name)])) as Record<QueueName, Queue>;
  const toJobId = <N extends JobName>(name: N, data: JobData<N>): string => {
    const { key, sharedBy } = getJobDefinition(name);
    return [key(data), ...(sharedBy?.(data) ?? [])].join('-');
  };
  const enqueue: Enqueue = async (name, data, { priority, delayMs } = {}) => {
    const entry = getJobDefinition(name);
    const delay = delayMs ?? entry.delayMs;
    const { trace } = tracing.current();
    await opened[entry.queue].add(name, data, {
      attempts: entry.attempts,
      removeOnComplete: true,
      removeOnFail: true, // a kept job blocks its id; failures are counted and logged
      ...(priority === undefined ? {} : { priority }),
      ...(delay ? { delay } : {}),
      ...(entry.backoffMs ? { backoff: { type: 'grow' } } : {}),
      ...(trace === undefined ? {} : { telemetry: { metadata: trace } }),
      ...(entry.unique === 'id' ? { jobId: toJobId(name, data) } : { deduplication: { id: entry.key(data), keepLastIfActive: true } }),
    });
  };
  return {
    enqueue,
    hasRoom: createAdmission(async (name, most) => redis.lrange(opened[name].toKey('wait'), -most, -1), nowMs),
    tryEnqueue: (...job) => void enqueue(...job).catch(() => undefined),
    tryRemove(name, data) {
      const entry = getJobDefinition(name);
      opened[entry.queue].remove(toJobId(name, data)).catch(() => undefined);
    },
    async isQueued(name, data) {
      const entry = getJobDefinition(name);
      return (await opened[entry.queue].getJob(toJobId(name, data))) !== undefined;
    },
    countWaiting: (name) => opened[name].getJobCountByTypes('wait', 'prioritized'),
    isQueueEmpty: async (name) => (await opened[name].getJobCountByTypes('wait', 'prioritized', 'delayed')) === 0,
    queues: Object.values(opened),
    close: async () => {
      await Promise.all(Object.values(opened).map((queue) => queue.close()));
    },
  };
}
