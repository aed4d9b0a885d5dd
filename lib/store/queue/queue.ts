import { setTimeout as sleep } from 'node:timers/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { DelayedError, type Job, Queue, UnrecoverableError, Worker } from 'bullmq';
import type { Config } from '../../../config/index.ts';
import type { Logger } from '../../base/log.ts';
import { type JobData, type JobEntry, type JobName, jobs, type QueueName, queues } from '../../contract/jobs.ts';
import { createRedis, impatient, type RedisClient } from '../redis/redis.ts';
import type { JobPriorities } from './job-priorities.ts';

const ajv = new Ajv2020({ keywords: ['patternText'] });
const checks = new Map(Object.entries(jobs).map(([name, entry]) => [name, ajv.compile(entry.data)]));

/**
 * Adds a job to its queue. Among waiting jobs, the one with the lowest `priority` number runs first. Rejects at once while Redis is away. The job only signals
 * that there is work; the document in the database is the truth.
 */
export type Enqueue = <N extends JobName>(name: N, data: JobData<N>, priority?: number) => Promise<void>;

/** Whether a job with this key is in its queue; only for jobs whose key is their id. Rejects at once while Redis is away. */
export type IsQueued = <N extends JobName>(name: N, data: JobData<N>) => Promise<boolean>;

/** The number of jobs in a queue that wait for a worker. Rejects at once while Redis is away. */
export type Waiting = (name: QueueName) => Promise<number>;

/** Thrown by a job that runs too early. The job returns to its queue and runs again after `ms` milliseconds; this does not count as a failed attempt. */
export class Later extends Error {
  readonly ms: number;
  constructor(ms: number) {
    super(`due in ${ms} ms`);
    this.ms = ms;
  }
}

/**
 * The rest of a job, such as a long wait, that continues after the job has freed its slot in the queue; null for none. The job itself must limit how many of
 * them run at once.
 */
export type BesideQueue = (() => Promise<void>) | null;

/**
 * Called after a job ran. If another job with the same key ran shortly before, the worker stays with the key: it runs the work again on each wake, until none
 * has come for `staysMs`.
 */
export type Stay = <N extends JobName>(name: N, data: JobData<N>) => void;

/**
 * State that a worker that stays with a key passes to the next run. `wakes`: the payloads of the wakes since the last run began, oldest first. `remembered`:
 * what the last run stored here.
 */
export interface Following {
  wakes: unknown[];
  remembered: unknown;
}

/** The handlers of all kinds of jobs; a missing one is a compile error. `following` is passed by a worker that stays with the key. */
export type Handlers<P> = { [N in JobName]: (platform: P, data: JobData<N>, following?: Following) => Promise<void | BesideQueue> };

const keyOf = (entry: JobEntry, data: unknown): string => (entry.key as (data: unknown) => string)(data);
/** Each queue has its own hash tag, so that a cluster spreads the queues over its nodes. */
const prefixOf = (config: Config, name: string): string => `{${config.REDIS_PREFIX}-queue-${name}}`;

/** Adds jobs to the queues, and reads the state of the queues. */
export interface Producer {
  /** Adds a job to its queue; resolves once it is there. Rejects while Redis is away. */
  enqueue: Enqueue;
  /** Whether a job is in its queue; only for jobs whose key is their id. Rejects while Redis is away. */
  isQueued: IsQueued;
  /** The number of jobs in a queue that wait for a worker. Rejects while Redis is away. */
  waiting: Waiting;
  /** Whether a queue has neither waiting nor delayed jobs. Rejects at once while Redis is away. */
  isEmpty: (name: QueueName) => Promise<boolean>;
  /** The queues themselves, for the operators' pages. */
  queues: Queue[];
  close(): Promise<void>;
}

/** Opens the producing side of every queue. `redis` must have the options `impatient`; it stays open when the producer is closed. */
export function openProducer(config: Config, log: Logger, redis: RedisClient): Producer {
  const open = new Map(
    (Object.keys(queues) as QueueName[]).map((name) => {
      const queue = new Queue(name, {
        connection: redis,
        prefix: prefixOf(config, name),
        skipVersionCheck: true,
      });
      queue.on('error', (error) => log.debug({ queue: name, err: error.message }, 'queue connection'));
      return [name, queue] as const;
    }),
  );
  return {
    async enqueue(name, data, priority) {
      const entry = jobs[name] as unknown as JobEntry;
      const key = keyOf(entry, data);
      await open.get(entry.queue)?.add(name, data, {
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
      const entry = jobs[name] as unknown as JobEntry;
      return (await open.get(entry.queue)?.getJob(keyOf(entry, data))) !== undefined;
    },
    waiting: async (name) => (await open.get(name)?.getJobCountByTypes('wait', 'prioritized')) ?? 0,
    isEmpty: async (name) => (await open.get(name)?.getJobCountByTypes('wait', 'prioritized', 'delayed')) === 0,
    queues: [...open.values()],
    close: async () => {
      await Promise.all([...open.values()].map((queue) => queue.close()));
    },
  };
}

/** Called with each job that has ended, for metrics. */
export type JobEnded = (name: string, outcome: 'done' | 'failed', ms: number) => void;

/** Runs the jobs of every queue with `handlers` until closed. Job data is validated before a job runs; a job with invalid data fails without a retry. */
export function openConsumers<P>(
  config: Config,
  log: Logger,
  priorities: Pick<JobPriorities, 'served' | 'drained'>,
  platform: P,
  handlers: Handlers<P>,
  ended: JobEnded,
  stay: Stay,
): { close(): Promise<void> } {
  const beside = new Set<Promise<void>>();
  let running = 0;
  let closing = false;
  const goOn = (job: Job, began: number, rest: () => Promise<void>): void => {
    const going = rest()
      .then(() => ended(job.name, 'done', performance.now() - began))
      .catch((error: unknown) => {
        ended(job.name, 'failed', performance.now() - began);
        log.error({ job: job.name, jobId: job.id, err: error }, 'job failed');
      })
      .finally(() => beside.delete(going));
    beside.add(going);
  };
  const handle = async (job: Job, token?: string): Promise<void> => {
    const check = checks.get(job.name);
    const run = handlers[job.name as JobName] as ((platform: P, data: unknown) => Promise<void | BesideQueue>) | undefined;
    if (!check || !run || !check(job.data)) throw new UnrecoverableError(`bad data for ${job.name}: ${ajv.errorsText(check?.errors)}`);
    const began = performance.now();
    running++;
    try {
      const rest = await run(platform, job.data);
      // Not for a job that throws `Later`: it has not been served yet.
      if (job.priority) priorities.served(job.queueName as QueueName, job.priority).catch(() => undefined);
      if (rest) goOn(job, began, rest);
      else ended(job.name, 'done', performance.now() - began);
      stay(job.name as JobName, job.data);
    } catch (error) {
      if (error instanceof Later) {
        await job.moveToDelayed(Date.now() + error.ms, token);
        throw new DelayedError();
      }
      ended(job.name, 'failed', performance.now() - began);
      throw error;
    } finally {
      running--;
    }
  };
  // Reconnects until closed, and often: by default BullMQ waits up to 20 s between two tries.
  const connection = createRedis(config, 'queue', {
    maxRetriesPerRequest: null,
    connectTimeout: impatient.connectTimeout,
    retryStrategy: (tries: number) => (closing ? null : impatient.retryStrategy(tries)),
  });
  connection.on('error', () => undefined); // the workers log it
  connection.connect().catch(() => undefined);
  const workers = (Object.entries(queues) as [QueueName, (typeof queues)[QueueName]][]).map(([name, options]) => {
    const worker = new Worker(name, handle, {
      connection,
      prefix: prefixOf(config, name),
      // Workers do check the version of Redis, unlike the producer: if BullMQ does not know it, it waits for delayed jobs in whole seconds.
      concurrency: options.concurrency,
      lockDuration: options.lockMs,
      stalledInterval: options.stalledCheckMs,
      maxStalledCount: options.maxStalled,
      settings: { backoffStrategy: (tries: number, _type?: string, _error?: Error, job?: { name: string }) => backoffMs(job?.name, tries) },
    });
    let loggedAt = 0;
    worker.on('error', (error) => {
      if (performance.now() - loggedAt < 10_000) return; // at most one line in 10 s (docs/guarantees.md#redis-connections)
      loggedAt = performance.now();
      log.warn({ queue: name, err: error.message }, 'worker connection');
    });
    worker.on('drained', () => void priorities.drained(name).catch(() => undefined));
    worker.on('failed', (job, error) =>
      log.error({ job: job?.name, jobId: job?.id, attempt: job?.attemptsMade, err: error }, 'job failed'),
    );
    return worker;
  });
  return {
    close: async () => {
      closing = true;
      await Promise.all(workers.map((worker) => closeWorker(worker, () => running > 0)));
      connection.disconnect();
      await Promise.all(beside);
    },
  };
}

/** How long a worker on a cluster may take to close after its jobs have ended, in milliseconds. */
const endMs = 1_000;

/** Closes a worker once its jobs have ended. It also resolves while Redis is away, when BullMQ's own `close` would wait forever. */
async function closeWorker(worker: Worker, areJobsRunning: () => boolean): Promise<void> {
  const closed = worker.close();
  // `close` waits until the blocking connection has ended. That never happens while the connection waits for its next try to connect.
  const blocking = await worker.getBackend().blockingClient?.catch(() => undefined);
  if (blocking?.isCluster) {
    // BullMQ would reconnect because its blocking command failed, and then wait for an end that does not come either.
    blocking.connect = () => Promise.reject(new Error('the worker is closing'));
    // If a node was lost, the blocking command may never end. Stop waiting for it once no job runs.
    while (!(await Promise.race([closed.then(() => true), sleep(endMs, false)])) && areJobsRunning());
    return blocking.disconnect();
  }
  if (blocking?.status === 'reconnecting')
    await blocking.connect().then(
      () => blocking.disconnect(),
      () => undefined,
    );
  await closed;
}

/** The wait before the next attempt, in milliseconds: it doubles from the job's `first` up to its `most`. */
function backoffMs(name: string | undefined, tries: number): number {
  const wait = (jobs[name as JobName] as unknown as JobEntry | undefined)?.backoffMs ?? { first: 200, most: 5_000 };
  return Math.min(wait.first * 2 ** (tries - 1), wait.most);
}
