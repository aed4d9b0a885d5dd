import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { createTurns } from '../../base/turns.ts';
import { type JobData, type JobEntry, type JobName, jobs } from '../../contract/jobs.ts';
import type { Keys } from '../redis/log/keys.ts';
import { type ConnectNode, createSubscriber } from '../redis/log/subscriber.ts';
import { publishCommand, type RedisClient } from '../redis/redis.ts';
import type { BesideQueue, Following, Stay } from './queue.ts';

const entryOf = (name: JobName): JobEntry => jobs[name];

/** The Pub/Sub channel that wakes the worker that stays with a job's key. It is in the partition of the id at the end of the key. */
export function wakeChannel<N extends JobName>(keys: Keys, name: N, data: JobData<N>): string {
  const key = entryOf(name).key(data as never);
  return `${keys.partition(keys.partitionOf(key.slice(key.lastIndexOf('-') + 1)))}wake:${name}:${key}`;
}

/**
 * Wakes the worker that stays with a job's key. False when no worker stays with it, which is always so for jobs without `staysMs`. Rejects while Redis is away.
 */
export type Wake = <N extends JobName>(name: N, data: JobData<N>) => Promise<boolean>;

/** Binds `wake` to `redis`. It publishes one message with the `data` of the job on the channel of the key, to which a worker that stays is subscribed. */
export const createWake =
  (redis: RedisClient, keys: Keys): Wake =>
  async (name, data) =>
    entryOf(name).staysMs !== undefined &&
    Number(await redis[publishCommand(redis)](wakeChannel(keys, name, data), JSON.stringify({ data }))) > 0;

/** The job keys that a worker stays with. It runs their work on each wake, without a job each time. */
export interface Residents {
  stay: Stay;
  /** Stops staying with all keys, and waits for the work in progress. */
  close(): Promise<void>;
}

/** How many keys a worker stays with at most, and for how many of them it runs work at once. */
const residentsMost = 1_000;
const runningMost = 4;
/**
 * The pause of a key after each run: `times` as long as the run took, at most `mostMs` milliseconds. A quiet channel is then relayed at once, and a busy one in
 * batches, which halves the total cost of a post.
 */
const rest = { times: 12, mostMs: 25 };

/** How many payloads of wakes are kept for the next run. If there are more, all are dropped and the run reads everything from the database. */
const wakesMost = 32;

interface Resident {
  following: Following;
  isWoken: boolean;
  isEnding: boolean;
  /** Ends the wait for a wake. */
  go: () => void;
}

/**
 * Creates the residents of a worker. `run` does the work of a key; it may be called without need. If it rejects, the sweep does the work later. `connect` opens
 * the connection that subscribes to wakes.
 */
export function createResidents(
  redis: RedisClient,
  keys: Keys,
  connect: ConnectNode,
  run: (name: JobName, data: never, following: Following) => Promise<void | BesideQueue>,
): Residents {
  const residents = new Map<string, Resident>();
  const recent = new LRUCache<string, true>({ max: 10_000, ttl: 1_000 });
  const atWork = new Set<Promise<void>>();
  const inSlot = createTurns(runningMost);
  const wake = createWake(redis, keys);
  let isClosing = false;

  const nothingKnown = (): Following => ({ wakes: [], remembered: null });
  const track = (work: Promise<void>): void => {
    const tracked = work.catch(() => undefined).finally(() => atWork.delete(tracked));
    atWork.add(tracked);
  };
  const wakeUp = (resident: Resident): void => {
    resident.isWoken = true;
    resident.go();
  };
  const subscriber = createSubscriber(redis, keys, connect, {
    onMessage(channel, message) {
      const { data, payload } = JSON.parse(message.toString()) as { data: object; payload?: unknown };
      const resident = residents.get(channel);
      // There is none if the wake was published while the worker was about to leave the key.
      if (!resident) return begin(channel, /wake:([a-z-]+):/.exec(channel)?.[1] as JobName, data);
      if (resident.following.wakes.push(payload) > wakesMost) resident.following = nothingKnown();
      wakeUp(resident);
    },
    onInterrupted(partition) {
      for (const [channel, resident] of residents)
        if (keys.partitionOfChannel(channel) === partition) {
          Object.assign(resident, { isEnding: true, following: nothingKnown() }); // later wakes may be lost
          wakeUp(resident);
        }
    },
  });

  const reside = async (channel: string, resident: Resident, name: JobName, data: object): Promise<void> => {
    const { staysMs = 0 } = entryOf(name);
    const partition = keys.partitionOfChannel(channel);
    try {
      await subscriber.subscribe(partition, [channel]);
      while (resident.isWoken) {
        resident.isWoken = false;
        const began = performance.now();
        const beside = await inSlot('', () => run(name, data as never, resident.following));
        if (beside) track(beside());
        await sleep(Math.min(rest.mostMs, rest.times * (performance.now() - began)));
        if (resident.isWoken || resident.isEnding || isClosing) continue;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, staysMs);
          resident.go = () => {
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
  const begin = (channel: string, name: JobName, data: object): void => {
    const resident: Resident = { following: nothingKnown(), isWoken: true, isEnding: false, go: () => undefined };
    residents.set(channel, resident);
    track(reside(channel, resident, name, data));
  };

  return {
    stay(name, data) {
      if (entryOf(name).staysMs === undefined || isClosing) return;
      const channel = wakeChannel(keys, name, data);
      const isBusy = recent.has(channel);
      recent.set(channel, true);
      if (!isBusy || residents.has(channel) || residents.size >= residentsMost) return;
      // Only one worker stays with a key. If another one does already, this wakes that one.
      wake(name, data).then(
        (isTaken) => isTaken || residents.has(channel) || begin(channel, name, data),
        () => undefined,
      );
    },
    async close() {
      isClosing = true;
      for (const resident of residents.values()) resident.go();
      await Promise.all(atWork);
      subscriber.close();
    },
  };
}
