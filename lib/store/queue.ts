import { setTimeout as sleep } from 'node:timers/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { DelayedError, type Job, Queue, UnrecoverableError, Worker } from 'bullmq';
import type { Config } from '../../config/index.ts';
import type { Logger } from '../base/log.ts';
import { type JobData, type JobEntry, type JobName, jobs, type QueueName, queues } from '../contract/jobs.ts';
import type { JobPriorities } from './job-priorities.ts';
import { createRedis, impatient, type RedisClient } from './redis.ts';

const ajv = new Ajv2020({ keywords: ['patternText'] });
const checks = new Map(Object.entries(jobs).map(([name, entry]) => [name, ajv.compile(entry.data)]));

/**
 * Puts a job on its queue; of those that wait the lowest priority goes first. Rejects at once while Redis is away: the document is the truth, the job only a
 * nudge.
 */
export type Enqueue = <N extends JobName>(name: N, data: JobData<N>, priority?: number) => Promise<void>;

/** Whether a job of this key is on its queue; only for jobs whose key is their id. Rejects at once while Redis is away. */
export type IsQueued = <N extends JobName>(name: N, data: JobData<N>) => Promise<boolean>;

/** How many jobs of a queue wait to be taken. Rejects at once while Redis is away. */
export type Waiting = (name: QueueName) => Promise<number>;

/** Thrown by a job that came too early: it goes back to its queue and is taken again in `ms` milliseconds, without a failed attempt. */
export class Later extends Error {
  readonly ms: number;
  constructor(ms: number) {
    super(`due in ${ms} ms`);
    this.ms = ms;
  }
}

/** What of a job goes on when its place in the queue is free for others, such as a long wait; null for nothing. Whatever starts such bounds how many there are. */
export type BesideQueue = (() => Promise<void>) | null;

/** A job of this key was run: where another one was just before, the worker stays with the key until no wake came for `staysMs`. */
export type Stay = <N extends JobName>(name: N, data: JobData<N>) => void;

/** What a worker that stays with a key has for the next run of its work: what wakes told since the last one began, oldest first, and what that one remembered. */
export interface Following {
  told: unknown[];
  remembered: unknown;
}

/** What each kind of job does; complete, or it does not compile. `following`: of a worker that stays with the key. */
export type Handlers<P> = { [N in JobName]: (platform: P, data: JobData<N>, following?: Following) => Promise<void | BesideQueue> };

const keyOf = (entry: JobEntry, data: unknown): string => (entry.key as (data: unknown) => string)(data);
/** Each queue has a hash tag of its own, so that a cluster spreads them. */
const prefixOf = (config: Config, name: string): string => `{${config.REDIS_PREFIX}-queue-${name}}`;

/** The queues that a process may put jobs on. */
export interface Producer {
  /** Puts a job on its queue and waits for it; rejects while Redis is away. */
  enqueue: Enqueue;
  /** Whether a job is on its queue; only for jobs whose key is their id. Rejects while Redis is away. */
  isQueued: IsQueued;
  /** How many jobs of a queue wait to be taken: whether the workers keep up. Rejects while Redis is away. */
  waiting: Waiting;
  /** Whether no job of a queue waits, also not for later. Rejects at once while Redis is away. */
  isEmpty: (name: QueueName) => Promise<boolean>;
  /** The queues themselves, for the operators' pages. */
  queues: Queue[];
  close(): Promise<void>;
}

/** Opens the producing side of every queue on `redis`, an impatient connection, which stays open when this is closed. */
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

/** What the running side of the queues tells: each job that ended, for metrics. */
export type JobEnded = (name: string, outcome: 'done' | 'failed', ms: number) => void;

/** Runs the jobs of every queue with `handlers` until closed. Job data is checked when it is taken; what does not fit fails for good. */
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
      // Not of a job that comes again later: it keeps its place.
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
  // Until closed it tries to connect, often: by default BullMQ waits up to 20 s between two tries.
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
      // The version of Redis is checked here, unlike above: unknown, it would let delayed jobs wait for whole seconds.
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

/** How long a worker on a cluster may take to end after its jobs have, in milliseconds. */
const endMs = 1_000;

/** Ends a worker when its jobs have ended, or when it cannot say so because Redis is away. */
async function closeWorker(worker: Worker, areJobsRunning: () => boolean): Promise<void> {
  const closed = worker.close();
  // It gives up its blocking connection and waits for the end of that, which never comes to one that waits for its next try.
  const blocking = await worker.getBackend().blockingClient?.catch(() => undefined);
  if (blocking?.isCluster) {
    // BullMQ would connect it anew because its command failed, and then wait for an end that does not come either.
    blocking.connect = () => Promise.reject(new Error('the worker is closing'));
    // Where a node was lost, the command that waits for a job may never end: it is not waited for when no job runs.
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

/** The wait before the next attempt: doubling from the job's first to its longest. */
function backoffMs(name: string | undefined, tries: number): number {
  const wait = (jobs[name as JobName] as unknown as JobEntry | undefined)?.backoffMs ?? { first: 200, most: 5_000 };
  return Math.min(wait.first * 2 ** (tries - 1), wait.most);
}
