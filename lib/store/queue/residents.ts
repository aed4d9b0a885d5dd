import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import type { JobData, JobName } from '../../contract/jobs.ts';
import type { Keys } from '../redis/log/keys.ts';
import { type ConnectNode, createSubscriber } from '../redis/log/subscriber.ts';
import { publishCommand, type RedisClient } from '../redis/redis.ts';
import { getJobDefinition, type JobResult, type RunState, type StayWithKey } from './queue.ts';

/** The Pub/Sub channel that wakes the worker that stays with a job's key. It is in the partition of the id at the end of the key. */
export function getWakeChannel<N extends JobName>(keys: Keys, name: N, data: JobData<N>): string {
  const key = getJobDefinition(name).key(data);
  return `${keys.partitionPrefix(keys.partitionOf(key.slice(key.lastIndexOf('-') + 1)))}wake:${name}:${key}`;
}

/**
 * Wakes the worker that stays with a job's key. False when no worker stays with it, which is always so for jobs without `residentIdleMs`. Rejects while Redis
 * is unavailable.
 */
export type WakeResident = <N extends JobName>(name: N, data: JobData<N>) => Promise<boolean>;

/**
 * Binds `wakeResident` to `redis`. It publishes one message with the `data` of the job on the channel of the key, to which a worker that stays is subscribed.
 */
export const createWakeResident =
  (redis: RedisClient, keys: Keys): WakeResident =>
  async (name, data) =>
    getJobDefinition(name).residentIdleMs !== undefined &&
    Number(await redis[publishCommand(redis)](getWakeChannel(keys, name, data), JSON.stringify({ data }))) > 0;

/** The job keys that a worker stays with. It runs their work on each wake, without a job each time. */
export interface Residents {
  stayWithKey: StayWithKey;
  /** Stops staying with all keys, and waits for the work in progress. */
  close(): Promise<void>;
}

/** How many keys a worker stays with at most, and for how many of them it runs work at once. */
const maxResidents = 1_000;
const maxRunning = 4;
/**
 * The pause of a key after each run: `factor` times as long as the run took, at most `maxMs` milliseconds. A quiet channel is then relayed at once, and a busy
 * one in batches, which halves the total cost of a post.
 */
const pauseAfterRun = { factor: 12, maxMs: 25 };

/** How many payloads of wakes are kept for the next run. If there are more, all are dropped and the run reads everything from the database. */
const maxWakes = 32;

interface Resident {
  runState: RunState;
  isWoken: boolean;
  isEnding: boolean;
  /** Ends the wait for a wake. */
  endWait: () => void;
}

/**
 * Creates the residents of a worker. `run` does the work of a key; it may be called without need. If it rejects, the sweep does the work later. `connect` opens
 * the connection that subscribes to wakes.
 */
export function createResidents(
  redis: RedisClient,
  keys: Keys,
  connect: ConnectNode,
  run: <N extends JobName>(name: N, data: JobData<N>, runState: RunState) => Promise<JobResult>,
): Residents {
  const residents = new Map<string, Resident>();
  const recentKeys = new LRUCache<string, true>({ max: 10_000, ttl: 1_000 });
  const runningWork = new Set<Promise<void>>();
  const slots = new PQueue({ concurrency: maxRunning });
  const wakeResident = createWakeResident(redis, keys);
  let isClosing = false;

  const createRunState = (): RunState => ({ wakes: [], saved: null, epochs: new Map() });
  const track = (work: Promise<void>): void => {
    const tracked = work.catch(() => undefined).finally(() => runningWork.delete(tracked));
    runningWork.add(tracked);
  };
  const wakeUp = (resident: Resident): void => {
    resident.isWoken = true;
    resident.endWait();
  };
  const subscriber = createSubscriber(redis, keys, connect, {
    onMessage(channel, message) {
      const { data, payload } = JSON.parse(message.toString()) as { data: JobData<JobName>; payload?: unknown };
      const resident = residents.get(channel);
      // There is none if the wake was published while the worker was about to leave the key.
      if (!resident) return startResident(channel, /wake:([a-z-]+):/.exec(channel)?.[1] as JobName, data);
      if (resident.runState.wakes.push(payload) > maxWakes) resident.runState = createRunState();
      wakeUp(resident);
    },
    onInterrupted(partition) {
      for (const [channel, resident] of residents)
        if (keys.partitionOfChannel(channel) === partition) {
          Object.assign<Resident, Partial<Resident>>(resident, { isEnding: true, runState: createRunState() }); // later wakes may be lost
          wakeUp(resident);
        }
    },
  });

  const runResident = async <N extends JobName>(channel: string, resident: Resident, name: N, data: JobData<N>): Promise<void> => {
    const { residentIdleMs = 0 } = getJobDefinition(name);
    const partition = keys.partitionOfChannel(channel);
    try {
      await subscriber.subscribe(partition, [channel]);
      while (resident.isWoken) {
        resident.isWoken = false;
        const startMs = performance.now();
        const result = await slots.add(() => run(name, data, resident.runState));
        if (typeof result === 'function') track(result());
        await sleep(Math.min(pauseAfterRun.maxMs, pauseAfterRun.factor * (performance.now() - startMs)));
        if (resident.isWoken || resident.isEnding || isClosing) continue;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, residentIdleMs);
          resident.endWait = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    } finally {
      residents.delete(channel);
      subscriber.unsubscribe(partition, channel);
    }
  };
  const startResident = <N extends JobName>(channel: string, name: N, data: JobData<N>): void => {
    const resident: Resident = { runState: createRunState(), isWoken: true, isEnding: false, endWait: () => undefined };
    residents.set(channel, resident);
    track(runResident(channel, resident, name, data));
  };

  return {
    stayWithKey(name, data) {
      if (getJobDefinition(name).residentIdleMs === undefined || isClosing) return;
      const channel = getWakeChannel(keys, name, data);
      const isBusy = recentKeys.has(channel);
      recentKeys.set(channel, true);
      if (!isBusy || residents.has(channel) || residents.size >= maxResidents) return;
      // Only one worker stays with a key. If another one does already, this wakes that one.
      wakeResident(name, data).then(
        (isWoken) => isWoken || residents.has(channel) || startResident(channel, name, data),
        () => undefined,
      );
    },
    async close() {
      isClosing = true;
      for (const resident of residents.values()) resident.endWait();
      await Promise.all(runningWork);
      subscriber.close();
    },
  };
}
