import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import { type WakeData, type WakeName, wakes } from '../../contract/wakes.ts';
import type { Keys } from './log/keys.ts';
import { type ConnectNode, createSubscriber } from './log/subscriber.ts';
import { bindScript, type RedisClient } from './redis.ts';
import { shareCount, shareOf, type WorkerShares } from './worker-shares.ts';

/** What a wake says. `payload`: what the work needs not read from a store then. */
interface WakeMessage<N extends WakeName = WakeName> {
  name: N;
  data: WakeData<N>;
  payload?: unknown;
}

/** A share of the keys, or all of them. */
type Share = number | 'all';

/** The Pub/Sub channel of a share in a partition, and that of all workers. */
const shareChannel = (keys: Keys, partition: number, share: Share): string => `${keys.partitionPrefix(partition)}wake:${share}`;

/** The channels by which the owner of a key, and all workers, are woken. */
export function wakeChannels(keys: Keys, key: string): [owner: string, all: string] {
  const partition = keys.partitionOf(key);
  return [shareChannel(keys, partition, shareOf(key)), shareChannel(keys, partition, 'all')];
}

/**
 * Lua: `wake(owner, all, message)` wakes the owner, or all workers if nobody is it now: a worker has died, or begins. Returns how many workers it woke; none
 * during a failover, until they have subscribed again.
 */
export const wakeLua = `
local function wake(owner, all, message)
  local woken = redis.call('PUBLISH', owner, message)
  return woken > 0 and woken or redis.call('PUBLISH', all, message)
end
`;

/**
 * Wakes the owner of the work's key, best effort: it neither waits nor fails. If no worker is woken, it tries again for 3 s. The document in the database is
 * the truth, and a sweep finds work without a wake.
 */
export type Wake = <N extends WakeName>(name: N, data: WakeData<N>) => void;

/** How long to wait before each further try, in milliseconds, and how many wakes of a process wait for one at most. */
const retriesMs = [100, 200, 400, 800, 1_600];
const maxRetrying = 1_000;

/** Binds `wake` to `redis`. */
export function createWake(redis: RedisClient, keys: Keys): Wake {
  const wakeScript = bindScript<number>(redis, 'parlanceWake', `${wakeLua}\nreturn wake(KEYS[1], KEYS[2], ARGV[1])`);
  /** The messages that wait for another try; one that is waited for need not be sent meanwhile. */
  const retrying = new Set<string>();
  return (name, data) => {
    const key = (wakes[name].key as (data: object) => string)(data);
    const message = JSON.stringify({ name, data } satisfies WakeMessage);
    const tryOnce = async (tries: number): Promise<void> => {
      const woken = await wakeScript(wakeChannels(keys, key), [message]).catch(() => 0);
      const waitMs = retriesMs[tries];
      if (woken > 0 || waitMs === undefined || retrying.has(message) || retrying.size >= maxRetrying) return;
      retrying.add(message);
      await sleep(waitMs, null, { ref: false });
      retrying.delete(message);
      await tryOnce(tries + 1);
    };
    void tryOnce(0);
  };
}

/** State that a run passes to the next one for the same work. `saved`: what the last run stored here. `epochs`: by partition, that in which it appended. */
export interface RunState {
  saved: unknown;
  epochs: Map<number, number>;
}

/**
 * Does the work of a wake; it may be called without need. `payloads`: those of the wakes since the last run began, oldest first; none if that is not known.
 * Returns the rest of the work, which the next run does not wait for. If it rejects, the sweep does the work.
 */
export type WakeHandler<P, N extends WakeName> = (
  platform: P,
  data: WakeData<N>,
  state: RunState,
  payloads: readonly unknown[],
) => Promise<void | (() => Promise<void>)>;
/** The handlers of all kinds of work; a missing one is a compile error. */
export type WakeHandlers<P> = { [N in WakeName]: WakeHandler<P, N> };

/** How much work runs at once, and how much can wait for its turn or rest: what comes then is left to the sweep. */
const maxRunning = 16;
const maxLanes = 10_000;
/** How much state is kept, and for how long after the last run, in milliseconds. */
const maxStates = 10_000;
const stateTtlMs = 2_000;
/** How many payloads are kept for the next run. If there are more, all are dropped, and the run reads everything from the database. */
const maxPayloads = 32;
/**
 * How long work rests after a run: `factor` times as long as the run took, at most `maxMs` milliseconds. A quiet channel is then relayed at once, and a busy one
 * in batches, which halves the total cost of a post.
 */
const rest = { factor: 12, maxMs: 25 };
/** How often the subscriptions follow the shares, in milliseconds. */
const followMs = 100;

/** Called with each run that has ended, for metrics. */
export type OnWorkEnded = (name: string, outcome: 'done' | 'failed', ms: number) => void;

/** Does the work that this worker is woken for. `connect` opens the connection that subscribes to wakes. */
export function openWakes(
  redis: RedisClient,
  keys: Keys,
  connect: ConnectNode,
  shares: WorkerShares,
  run: <N extends WakeName>(
    name: N,
    data: WakeData<N>,
    state: RunState,
    payloads: readonly unknown[],
  ) => ReturnType<WakeHandler<unknown, N>>,
  onEnded: OnWorkEnded,
): { close(): Promise<void> } {
  const lanes = new Map<string, { isWoken: boolean }>();
  const states = new LRUCache<string, RunState & { payloads: unknown[] }>({ max: maxStates, ttl: stateTtlMs });
  const slots = new PQueue({ concurrency: maxRunning });
  const running = new Set<Promise<void>>();
  const track = (work: Promise<void>): void => {
    const tracked = work.catch(() => undefined).finally(() => running.delete(tracked));
    running.add(tracked);
  };
  const runOnce = async ({ name, data }: WakeMessage, id: string): Promise<void> => {
    const startMs = performance.now();
    const end = (outcome: 'done' | 'failed'): void => onEnded(name, outcome, performance.now() - startMs);
    const state = states.get(id) ?? { payloads: [], saved: null, epochs: new Map() };
    states.set(id, state);
    const remaining = await run(name, data as never, state, state.payloads.splice(0)).catch((error: unknown) => {
      end('failed');
      throw error;
    });
    if (states.peek(id) === state) states.set(id, state); // it is kept from now on; it is gone if wakes may have been lost
    track((remaining?.() ?? Promise.resolve()).then(() => end('done')).catch(() => end('failed')));
  };
  const runLane = async (message: WakeMessage, id: string): Promise<void> => {
    const lane = { isWoken: true };
    lanes.set(id, lane);
    try {
      while (lane.isWoken) {
        lane.isWoken = false;
        const startMs = performance.now();
        await slots.add(() => runOnce(message, id));
        await sleep(
          (wakes[message.name] as { restMs?: number }).restMs ?? Math.min(rest.maxMs, rest.factor * (performance.now() - startMs)),
        );
      }
    } finally {
      lanes.delete(id);
    }
  };
  const subscriber = createSubscriber(redis, keys, connect, {
    onMessage(_channel, text) {
      const message = JSON.parse(text.toString()) as WakeMessage;
      const id = `${message.name} ${Object.values(message.data).join(' ')}`;
      const state = states.get(id);
      if (state && state.payloads.push(message.payload) > maxPayloads) states.delete(id);
      const lane = lanes.get(id);
      if (lane) lane.isWoken = true;
      else if (lanes.size < maxLanes) track(runLane(message, id));
    },
    onInterrupted(partition) {
      // The timer subscribes again: a subscription that is refused because the slot has moved interrupts as well, and must not be repeated at once.
      subscribed[partition]?.clear();
      states.clear(); // wakes may have been lost
    },
  });
  /** By partition, the shares whose channels are subscribed to. */
  const subscribed = Array.from({ length: keys.partitions }, () => new Set<Share>());
  const follow = (): void => {
    const wanted = new Set<Share>(['all']);
    for (let share = 0; share < shareCount; share++) if (shares.ownsShare(share)) wanted.add(share);
    for (const [partition, held] of subscribed.entries()) {
      if (!subscriber.isUp(partition)) continue;
      const toChannel = (share: Share): string => shareChannel(keys, partition, share);
      const missing = [...wanted].filter((share) => !held.has(share));
      for (const share of missing) held.add(share);
      if (missing.length > 0)
        subscriber.subscribe(partition, missing.map(toChannel)).catch(() => {
          for (const share of missing) held.delete(share);
        });
      const unwanted = [...held].filter((share) => !wanted.has(share));
      for (const share of unwanted) held.delete(share);
      subscriber.unsubscribe(partition, unwanted.map(toChannel));
    }
  };
  const timer = setInterval(follow, followMs);
  follow();
  return {
    async close() {
      clearInterval(timer);
      subscriber.close(); // from now on, all other workers are woken
      while (running.size > 0) await Promise.all(running);
    },
  };
}
