import { type JobType, Queue } from 'bullmq';
import type { Config } from '../../../config/index.ts';
import type { Logger } from '../../base/log.ts';
import type { Tracing } from '../../base/tracing.ts';
import { type JobData, type JobDefinition, type JobName, jobs, type QueueName, queues } from '../../contract/jobs.ts';
import type { Keys } from '../redis/log/keys.ts';
import type { RedisClient } from '../redis/redis.ts';
import { getParts } from './queue-parts.ts';

/**
 * Adds a job to its queue. Among waiting jobs, the one with the lowest `priority` number runs first. Rejects at once while Redis is unavailable. The job only
 * signals that there is work; the document in the database is the truth.
 */
export type Enqueue = <N extends JobName>(name: N, data: JobData<N>, priority?: number) => Promise<void>;

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

/**
 * Called after a job ran. If another job with the same key ran shortly before, the worker stays with the key: it runs the work again on each wake, until none
 * has come for `residentIdleMs`.
 */
export type StayWithKey = <N extends JobName>(name: N, data: JobData<N>) => void;

/**
 * State that a worker that stays with a key passes to the next run. `wakes`: the payloads of the wakes since the last run began, oldest first. `saved`: what
 * the last run stored here. `epochs`: by partition, the epoch in which the runs before appended.
 */
export interface RunState {
  wakes: unknown[];
  saved: unknown;
  epochs: Map<number, number>;
}

/** The handlers of all kinds of jobs; a missing one is a compile error. `runState` is passed by a worker that stays with the key. */
export type Handlers<P> = { [N in JobName]: (platform: P, data: JobData<N>, runState?: RunState) => Promise<JobResult> };

const definitions: { [N in JobName]: JobDefinition<JobData<N>> } = jobs;
/** The options of a kind of jobs. */
export const getJobDefinition = <N extends JobName>(name: N): JobDefinition<JobData<N>> => definitions[name];

/** Adds jobs to the queues, and reads the state of the queues. */
export interface Producer {
  /** Adds a job to its queue; resolves once it is there. Rejects while Redis is unavailable. */
  enqueue: Enqueue;
  /** Whether a job is in its queue; only for jobs whose key is their id. Rejects while Redis is unavailable. */
  isQueued: IsQueued;
  /** The number of jobs in a queue that wait for a worker. Rejects while Redis is unavailable. */
  countWaiting: CountWaiting;
  /** Whether a queue has neither waiting nor delayed jobs. Rejects at once while Redis is unavailable. */
  isQueueEmpty: (name: QueueName) => Promise<boolean>;
  /** The parts of all queues, for the operators' pages. `getQueueName` tells which queue each is a part of. */
  queues: Queue[];
  close(): Promise<void>;
}

/** Opens the producing side of every queue. `redis` must have the options `failFast`; it stays open when the producer is closed. */
export function openProducer(config: Config, log: Logger, redis: RedisClient, keys: Keys, tracing: Tracing): Producer {
  const open = (part: string, prefix: string): Queue => {
    const queue = new Queue(part, { connection: redis, prefix, skipVersionCheck: true });
    queue.on('error', (error) => log.debug({ queue: part, err: error.message }, 'queue connection error'));
    return queue;
  };
  const partsByName = new Map(
    (Object.keys(queues) as QueueName[]).map((name) => [name, getParts(config, keys, name).map(({ part, prefix }) => open(part, prefix))]),
  );
  const partsOf = (name: QueueName): Queue[] => partsByName.get(name) ?? [];
  const partFor = (name: QueueName, key: string): Queue | undefined => {
    const parts = partsOf(name);
    return parts[parts.length === 1 ? 0 : keys.partitionOf(key)];
  };
  const count = async (name: QueueName, ...states: JobType[]): Promise<number> =>
    (await Promise.all(partsOf(name).map((part) => part.getJobCountByTypes(...states)))).reduce((sum, one) => sum + one, 0);
  return {
    async enqueue(name, data, priority) {
      const entry = getJobDefinition(name);
      const key = entry.key(data);
      const { trace } = tracing.current();
      await partFor(entry.queue, key)?.add(name, data, {
        attempts: entry.attempts,
        removeOnComplete: true,
        removeOnFail: true, // a kept job blocks its id; failures are counted and logged
        ...(entry.newestFirst ? { lifo: true } : {}),
        ...(priority === undefined ? {} : { priority }),
        ...(entry.delayMs ? { delay: entry.delayMs } : {}),
        ...(entry.backoffMs ? { backoff: { type: 'grow' } } : {}),
        ...(trace === undefined ? {} : { telemetry: { metadata: trace } }),
        ...(entry.unique === 'id' ? { jobId: key } : { deduplication: { id: key, keepLastIfActive: true } }),
      });
    },
    async isQueued(name, data) {
      const entry = getJobDefinition(name);
      const key = entry.key(data);
      return (await partFor(entry.queue, key)?.getJob(key)) !== undefined;
    },
    countWaiting: (name) => count(name, 'wait', 'prioritized'),
    isQueueEmpty: async (name) => (await count(name, 'wait', 'prioritized', 'delayed')) === 0,
    queues: [...partsByName.values()].flat(),
    close: async () => {
      await Promise.all([...partsByName.values()].flat().map((queue) => queue.close()));
    },
  };
}
