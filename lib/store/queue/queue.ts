import { setTimeout as sleep } from 'node:timers/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { DelayedError, type Job, type JobType, Queue, UnrecoverableError, Worker } from 'bullmq';
import type { Config } from '../../../config/index.ts';
import type { Logger } from '../../base/log.ts';
import { type JobData, type JobDefinition, type JobName, jobLock, jobs, type QueueName, queues } from '../../contract/jobs.ts';
import type { Keys } from '../redis/log/keys.ts';
import { createRedis, failFast, type RedisClient } from '../redis/redis.ts';
import type { JobPriorities } from './job-priorities.ts';
import { getParts, getQueueName } from './queue-parts.ts';

const ajv = new Ajv2020({ keywords: ['patternText'] });
const validators = new Map(Object.entries(jobs).map(([name, entry]) => [name, ajv.compile(entry.data)]));

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
 * the last run stored here.
 */
export interface RunState {
  wakes: unknown[];
  saved: unknown;
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
export function openProducer(config: Config, log: Logger, redis: RedisClient, keys: Keys): Producer {
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
      await partFor(entry.queue, key)?.add(name, data, {
        attempts: entry.attempts,
        removeOnComplete: true,
        removeOnFail: true, // a kept job blocks its id; failures are counted and logged
        ...(entry.newestFirst ? { lifo: true } : {}),
        ...(priority === undefined ? {} : { priority }),
        ...(entry.delayMs ? { delay: entry.delayMs } : {}),
        ...(entry.backoffMs ? { backoff: { type: 'grow' } } : {}),
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

/** Called with each job that has ended, for metrics. */
export type OnJobEnded = (name: string, outcome: 'done' | 'failed', ms: number) => void;

/** How many jobs of each part of a queue one process runs at least, so that a slow one does not delay the others. */
const minPartConcurrency = 2;

/** Runs the jobs of every queue with `handlers` until closed. Job data is validated before a job runs; a job with invalid data fails without a retry. */
export function openConsumers<P>(
  config: Config,
  log: Logger,
  keys: Keys,
  priorities: Pick<JobPriorities, 'markServed' | 'removeIfEmpty'>,
  platform: P,
  handlers: Handlers<P>,
  onJobEnded: OnJobEnded,
  stayWithKey: StayWithKey,
): { close(): Promise<void> } {
  const detached = new Set<Promise<void>>();
  let runningCount = 0;
  let isClosing = false;
  const runDetached = (job: Job, startMs: number, remaining: () => Promise<void>): void => {
    const detachedRun = remaining()
      .then(() => onJobEnded(job.name, 'done', performance.now() - startMs))
      .catch((error: unknown) => {
        onJobEnded(job.name, 'failed', performance.now() - startMs);
        log.error({ job: job.name, jobId: job.id, err: error }, 'job failed');
      })
      .finally(() => detached.delete(detachedRun));
    detached.add(detachedRun);
  };
  const run = <N extends JobName>(name: N, data: JobData<N>): Promise<JobResult> => handlers[name](platform, data);
  const handle = async (job: Job, token?: string): Promise<void> => {
    const validate = validators.get(job.name);
    if (!validate?.(job.data)) throw new UnrecoverableError(`invalid data for the job ${job.name}: ${ajv.errorsText(validate?.errors)}`);
    const startMs = performance.now();
    runningCount++;
    try {
      const result = await run(job.name as JobName, job.data);
      if (typeof result === 'number') {
        await job.moveToDelayed(Date.now() + result, token);
        throw new DelayedError();
      }
      if (job.priority) priorities.markServed(getQueueName(job.queueName), job.priority).catch(() => undefined);
      if (result) runDetached(job, startMs, result);
      else onJobEnded(job.name, 'done', performance.now() - startMs);
      stayWithKey(job.name as JobName, job.data);
    } catch (error) {
      if (error instanceof DelayedError) throw error;
      onJobEnded(job.name, 'failed', performance.now() - startMs);
      throw error;
    } finally {
      runningCount--;
    }
  };
  // Reconnects until closed, and often: by default BullMQ waits up to 20 s between two tries.
  const connection = createRedis(config, 'queue', {
    maxRetriesPerRequest: null,
    connectTimeout: failFast.connectTimeout,
    retryStrategy: (attempts: number) => (isClosing ? null : failFast.retryStrategy(attempts)),
  });
  connection.on('error', () => undefined); // the workers log it
  connection.connect().catch(() => undefined);
  const openWorker = (name: QueueName, part: string, prefix: string, concurrency: number): Worker => {
    const options = queues[name];
    const worker = new Worker(part, handle, {
      connection,
      prefix,
      // Workers do check the version of Redis, unlike the producer: if BullMQ does not know it, it waits for delayed jobs in whole seconds.
      concurrency,
      lockDuration: jobLock.ms,
      stalledInterval: jobLock.checkMs,
      maxStalledCount: options.maxStalled,
      settings: {
        backoffStrategy: (attempts: number, _type?: string, _error?: Error, job?: { name: string }) =>
          computeBackoffMs(job?.name, attempts),
      },
    });
    let loggedAt = 0;
    worker.on('error', (error) => {
      if (performance.now() - loggedAt < 10_000) return; // at most one line in 10 s (docs/guarantees.md#redis-connections)
      loggedAt = performance.now();
      log.warn({ queue: part, err: error.message }, 'queue worker connection error');
    });
    worker.on('drained', () => void priorities.removeIfEmpty(name).catch(() => undefined));
    worker.on('failed', (job, error) =>
      log.error({ job: job?.name, jobId: job?.id, attempt: job?.attemptsMade, err: error }, 'job failed'),
    );
    return worker;
  };
  const workers = (Object.keys(queues) as QueueName[]).flatMap((name) => {
    const parts = getParts(config, keys, name);
    const concurrency = Math.max(minPartConcurrency, Math.ceil(queues[name].concurrency / parts.length));
    return parts.map(({ part, prefix }) => openWorker(name, part, prefix, concurrency));
  });
  return {
    close: async () => {
      isClosing = true;
      await Promise.all(workers.map((worker) => closeWorker(worker, () => runningCount > 0)));
      connection.disconnect();
      await Promise.all(detached);
    },
  };
}

/** How long a worker on a cluster may take to close after its jobs have ended, in milliseconds. */
const closeTimeoutMs = 1_000;

/** Closes a worker once its jobs have ended. It also resolves while Redis is unavailable, when BullMQ's own `close` would wait forever. */
async function closeWorker(worker: Worker, areJobsRunning: () => boolean): Promise<void> {
  const closed = worker.close();
  // `close` waits until the blocking connection has ended. That never happens while the connection waits for its next try to connect.
  const blocking = await worker.getBackend().blockingClient?.catch(() => undefined);
  if (blocking?.isCluster) {
    // BullMQ would reconnect because its blocking command failed, and then wait for an end that does not come either.
    blocking.connect = () => Promise.reject(new Error('the worker is closing'));
    // If a node was lost, the blocking command may never end. Stop waiting for it once no job runs.
    while (!(await Promise.race([closed.then(() => true), sleep(closeTimeoutMs, false)])) && areJobsRunning());
    return blocking.disconnect();
  }
  if (blocking?.status === 'reconnecting')
    await blocking.connect().then(
      () => blocking.disconnect(),
      () => undefined,
    );
  await closed;
}

/** The wait before the next attempt, in milliseconds: it doubles from the job's `first` up to its `max`. */
function computeBackoffMs(name: string | undefined, attempts: number): number {
  const backoff = jobs[name as JobName]?.backoffMs ?? { first: 200, max: 5_000 };
  return Math.min(backoff.first * 2 ** (attempts - 1), backoff.max);
}
