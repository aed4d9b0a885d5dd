import { LRUCache } from 'lru-cache';
import { idTimeMs, isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { QueueName } from '../../contract/jobs.ts';

/**
 * Whether a queue takes one more job of `sharers`, such as an application and a server. While the queue is busy, those of whom a job waits already are refused;
 * while it is full, everybody is. So those who make a queue grow are refused first, and what is taken is done in time (docs/operations.md#under-too-much-load).
 * A queue is busy or full by how long its oldest job has waited, or by how many jobs wait. Only for queues whose jobs have `sharedBy`. Rejects while Redis is
 * unavailable.
 */
export type HasRoom = (queue: QueueName, sharers: readonly string[]) => Promise<boolean>;

/** How long a reading of a queue is used, in milliseconds. What this process adds meanwhile is counted. */
const readingMs = 100;

/** What waits in a queue. */
interface Reading {
  /** When the oldest job was asked for, in Unix milliseconds; infinite if none waits. */
  oldestAtMs: number;
  count: number;
  /** By kind of sharer, such as the applications, those of whom jobs wait. */
  waiting: Set<string>[];
}

/** Adds a job of `sharers` to what waits. */
function addJob(reading: Reading, sharers: readonly string[]): void {
  reading.count++;
  sharers.forEach((id, kind) => {
    reading.waiting[kind] = (reading.waiting[kind] ?? new Set()).add(id);
  });
}

/** What waits by the ids of the jobs: `<kind>-<id>-<sharer>-…`. The time of `<id>` is that of the request. */
function toReading(jobIds: readonly string[]): Reading {
  const reading: Reading = { oldestAtMs: Number.POSITIVE_INFINITY, count: 0, waiting: [] };
  for (const jobId of jobIds) {
    const [, id = '', ...sharers] = jobId.split('-');
    if (isId(id)) reading.oldestAtMs = Math.min(reading.oldestAtMs, idTimeMs(id));
    addJob(reading, sharers);
  }
  return reading;
}

/** Whether a job of one of the sharers waits. One that shares with nobody, such as the only server, does not count: the applications in it share the queue. */
function hasWaiting({ waiting }: Reading, sharers: readonly string[]): boolean {
  const isWaiting = (id: string, kind: number): boolean => waiting[kind]?.has(id) === true;
  const shares = sharers.flatMap((id, kind) => ((waiting[kind]?.size ?? 0) > (isWaiting(id, kind) ? 1 : 0) ? isWaiting(id, kind) : []));
  return shares.length === 0 || shares.includes(true);
}

/** Creates the admission to queues. `readJobIds` reads the ids of waiting jobs, at most `most`, among them the oldest. */
export function createAdmission(readJobIds: (queue: QueueName, most: number) => Promise<string[]>, nowMs: () => number): HasRoom {
  const readings = new LRUCache<QueueName, Promise<Reading>>({ max: 10, ttl: readingMs });
  const read = (queue: QueueName): Promise<Reading> => {
    const reading = readings.get(queue) ?? readJobIds(queue, limits.usesWaitingFull).then(toReading);
    if (!readings.has(queue)) readings.set(queue, reading);
    reading.catch(() => readings.delete(queue));
    return reading;
  };
  return async (queue, sharers) => {
    const reading = await read(queue);
    const waitedMs = nowMs() - reading.oldestAtMs;
    const isFull = waitedMs > limits.usesWaitMsFull || reading.count >= limits.usesWaitingFull;
    const isBusy = waitedMs > limits.usesWaitMsBusy || reading.count >= limits.usesWaitingBusy;
    if (isFull || (isBusy && hasWaiting(reading, sharers))) return false;
    addJob(reading, sharers);
    return true;
  };
}
