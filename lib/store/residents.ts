import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { createTurns } from '../base/turns.ts';
import { type JobData, type JobEntry, type JobName, jobs } from '../contract/jobs.ts';
import type { Keys } from './log/keys.ts';
import { type ConnectNode, createSubscriber } from './log/subscriber.ts';
import type { BesideQueue, Following, Stay } from './queue.ts';
import { publishCommand, type RedisClient } from './redis.ts';

const entryOf = (name: JobName): JobEntry => jobs[name];

/** The channel that wakes the worker that stays with a job's key, in the partition of what the key names. */
export function wakeChannel<N extends JobName>(keys: Keys, name: N, data: JobData<N>): string {
  const key = entryOf(name).key(data as never);
  return `${keys.partition(keys.partitionOf(key.slice(key.lastIndexOf('-') + 1)))}wake:${name}:${key}`;
}

/** Wakes the worker that stays with a job's key; false when none does, or jobs of this kind have none that stays. Rejects while Redis is away. */
export type Wake = <N extends JobName>(name: N, data: JobData<N>) => Promise<boolean>;

/** Binds `wake` to `redis`. It is one command: a worker that stays is subscribed to the channel of the key, where each message has the `data` of its job. */
export const createWake =
  (redis: RedisClient, keys: Keys): Wake =>
  async (name, data) =>
    entryOf(name).staysMs !== undefined &&
    Number(await redis[publishCommand(redis)](wakeChannel(keys, name, data), JSON.stringify({ data }))) > 0;

/** Keys that a worker stays with: it runs their work when it is woken, without a job each time. */
export interface Residents {
  stay: Stay;
  /** Waits for the work under way. */
  close(): Promise<void>;
}

/** How many keys a worker stays with, and how many of them are at work at once. */
const residentsMost = 1_000;
const runningMost = 4;
/**
 * After its work a key rests for so many times as long, at most so many milliseconds: a quiet one is relayed at once, a busy one in batches, which halves what a
 * post costs the whole machine.
 */
const rest = { times: 12, mostMs: 25 };

/** How much of what wakes told waits for a run; of more nothing is kept, and the run looks everything up. */
const toldMost = 32;

interface Resident {
  following: Following;
  isWoken: boolean;
  isEnding: boolean;
  /** Ends the wait for a wake. */
  go: () => void;
}

/**
 * `run` does the work of a key, and may be run in vain; where it rejects, the sweep does the work later. `connect` opens the connection that listens for wakes.
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

  const nothingKnown = (): Following => ({ told: [], remembered: null });
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
      const { data, told } = JSON.parse(message.toString()) as { data: object; told?: unknown };
      const resident = residents.get(channel);
      // Without one it was sent when the worker was about to leave.
      if (!resident) return begin(channel, /wake:([a-z-]+):/.exec(channel)?.[1] as JobName, data);
      if (resident.following.told.push(told) > toldMost) resident.following = nothingKnown();
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
      // One worker stays with a key: another one that does is woken by this.
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
