import { AsyncResource } from 'node:async_hooks';
import { randomInt } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq';
import type { Config } from '../../../config/index.ts';
import type { Logger } from '../../base/log.ts';
import type { Running } from '../../base/process.ts';
import type { Tracing } from '../../base/tracing.ts';
import { type JobData, type JobName, jobLock, jobs, type QueueName, queues } from '../../contract/jobs.ts';
import { createRedis, failFast } from '../redis/redis.ts';
import type { OnWorkEnded } from '../redis/wakes.ts';
import { closeWorker } from './close-worker.ts';
import type { JobPriorities } from './job-priorities.ts';
import { getQueuePrefix, type Handlers, type JobResult } from './queue.ts';

const ajv = new Ajv2020({ keywords: ['patternText', 'characters'] });
const validators = new Map(Object.entries(jobs).map(([name, entry]) => [name, ajv.compile(entry.data)]));

/** The consumers of every queue. */
export interface Consumers extends Running {
  /** The queues whose consumer has stopped without being closed. While Redis is unavailable, consumers wait for it, and have not stopped. */
  findStopped(): string[];
}

/** Runs the jobs of every queue with `handlers` until closed. A job of an unknown kind is left to newer workers; one with invalid data fails at once. */
export function openConsumers<P extends { tracing: Tracing }>(
  config: Config,
  log: Logger,
  priorities: Pick<JobPriorities, 'markServed' | 'removeIfEmpty'>,
  platform: P,
  handlers: Handlers<P>,
  onEnded: OnWorkEnded,
): Consumers {
  const detached = new Set<Promise<void>>();
  let runningCount = 0;
  let isClosing = false;
  const runDetached = (job: Job, startMs: number, remaining: () => Promise<void>): void => {
    const detachedRun = remaining()
      .then(() => onEnded(job.name, 'done', performance.now() - startMs))
      .catch((error: unknown) => {
        onEnded(job.name, 'failed', performance.now() - startMs);
        log.error({ job: job.name, jobId: job.id, err: error }, 'job failed');
      })
      .finally(() => detached.delete(detachedRun));
    detached.add(detachedRun);
  };
  const run = <N extends JobName>(name: N, data: JobData<N>): Promise<JobResult> => handlers[name](platform, data);
  /** Runs a job, in a span if it was enqueued in one. */
  const runTraced = (job: Job): Promise<JobResult> => {
    const parent = job.opts.telemetry?.metadata;
    if (parent === undefined) return run(job.name as JobName, job.data);
    const attributes = { 'parlance.queue': job.queueName, 'parlance.attempt': job.attemptsMade + 1 };
    return platform.tracing.run(`job ${job.name}`, { kind: 'consumer', parent, attributes }, async () => {
      const result = await run(job.name as JobName, job.data);
      return typeof result === 'function' ? AsyncResource.bind(result) : result; // what it does later is also below this span
    });
  };
  const handle = async (job: Job, token?: string): Promise<void> => {
    const validate = validators.get(job.name);
    if (!validate) return leaveForOthers(job, token);
    if (!validate(job.data)) throw new UnrecoverableError(`invalid data for the job ${job.name}: ${ajv.errorsText(validate.errors)}`);
    const startMs = performance.now();
    runningCount++;
    try {
      const result = await runTraced(job);
      if (typeof result === 'number') {
        await job.moveToDelayed(Date.now() + result, token);
        throw new DelayedError();
      }
      if (job.priority) priorities.markServed(job.queueName as QueueName, job.priority).catch(() => undefined);
      if (result) runDetached(job, startMs, result);
      else onEnded(job.name, 'done', performance.now() - startMs);
    } catch (error) {
      if (error instanceof DelayedError) throw error;
      onEnded(job.name, 'failed', performance.now() - startMs);
      throw error;
    } finally {
      runningCount--;
    }
  };
  // Reconnects until closed, and often: by default BullMQ waits up to 20 s between two tries. BullMQ copies it for each worker, and waits for the `connect()` of a
  // copy that does not connect by itself. On a cluster, that promise never settles if the cluster is not ready at the first try.
  const connection = createRedis(config, 'queue', {
    maxRetriesPerRequest: null,
    connectTimeout: failFast.connectTimeout,
    retryStrategy: (attempts: number) => (isClosing ? null : failFast.retryStrategy(attempts)),
  });
  connection.on('error', () => undefined); // the workers log it
  const openWorker = (name: QueueName): Worker => {
    const options = queues[name];
    const worker = new Worker(name, handle, {
      connection,
      prefix: getQueuePrefix(config, name),
      // Workers do check the version of Redis, unlike the producer: if BullMQ does not know it, it waits for delayed jobs in whole seconds.
      concurrency: options.concurrency,
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
      log.warn({ queue: name, err: error.message }, 'queue worker connection error');
    });
    if (options.hasPriorities) worker.on('drained', () => void priorities.removeIfEmpty(name).catch(() => undefined));
    worker.on('failed', (job, error) =>
      log.error({ job: job?.name, jobId: job?.id, attempt: job?.attemptsMade, err: error }, 'job failed'),
    );
    return worker;
  };
  const workers = (Object.keys(queues) as QueueName[]).map(openWorker);
  return {
    findStopped: () => workers.filter((worker) => !worker.isRunning()).map(({ name }) => name),
    close: async () => {
      isClosing = true;
      await Promise.all(workers.map((worker) => closeWorker(worker, () => runningCount > 0)));
      connection.disconnect();
      await Promise.all(detached);
    },
  };
}

/** How long a job that no worker knows is kept, in milliseconds. Then it is removed, because it may block its key; a sweep finds the work. */
const unknownJobMs = 30_000;

/** Leaves a job of a newer version to a worker that knows it, which does not count as a failed attempt. */
async function leaveForOthers(job: Job, token: string | undefined): Promise<never> {
  const dueMs = job.timestamp + (job.opts.delay ?? 0);
  if (Date.now() > dueMs + unknownJobMs) throw new UnrecoverableError(`no worker knows the job ${job.name}; is it of a newer version?`);
  // A random pause, because of two workers that look for the job in the same millisecond Redis always prefers the older connection.
  await job.moveToDelayed(Date.now() + randomInt(50, 200), token);
  throw new DelayedError();
}

/** The wait before the next attempt, in milliseconds: it doubles from the job's `first` up to its `max`. */
function computeBackoffMs(name: string | undefined, attempts: number): number {
  const backoff = jobs[name as JobName]?.backoffMs ?? { first: 200, max: 5_000 };
  return Math.min(backoff.first * 2 ** (attempts - 1), backoff.max);
}
