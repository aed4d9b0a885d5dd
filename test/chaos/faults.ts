import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Stores } from '../../apps/local/stores.ts';
import type { RedisCluster } from '../harness/redis-cluster.ts';
import type { RoleProcess, Stack } from '../harness/stack.ts';

/** A fault; everything works again when `run` resolves. */
export interface Fault {
  name: string;
  /** What the fault affects. A target has at most one fault at a time. */
  target: unknown;
  run: () => Promise<void>;
  /** Whether no other fault may run at the same time. */
  isAlone?: boolean;
}

/** The maximum pause of a process, in milliseconds: longer than the lock of a worker's batch and a node's lease. */
const pauseMostMs = 8_000;
/** The maximum number of bytes that Redis loses from the end of its log. */
const cutMost = 100_000;

/** Sends a signal to a process, which may have ended. */
function signal(pid: number | undefined, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Ends a role by a signal and starts it again. At SIGTERM, gateways drain. */
const restartBy =
  (how: 'SIGKILL' | 'SIGTERM') =>
  (role: RoleProcess, at: number): Fault => ({
    name: `${how} ${role.name} ${at}`,
    target: role,
    run: async () => {
      await role.stop(how);
      await role.start();
    },
  });
const killRole = restartBy('SIGKILL');
export const restartRole = restartBy('SIGTERM');

export const pauseRole = (role: RoleProcess, at: number): Fault => ({
  name: `SIGSTOP ${role.name} ${at}`,
  target: role,
  run: async () => {
    const pid = role.pid();
    signal(pid, 'SIGSTOP');
    await sleep(1_000 + Math.random() * (pauseMostMs - 1_000));
    signal(pid, 'SIGCONT');
  },
});

/** Cuts off the end of Redis' newest append-only file, as when the machine crashes between two fsyncs (`everysec`). */
async function cutLog(dataDir: string): Promise<void> {
  const folder = join(dataDir, 'redis', 'appendonlydir');
  const numberOf = (name: string): number => Number(/\.(\d+)\.incr\.aof$/.exec(name)?.[1] ?? 0);
  const [newest] = (await readdir(folder)).toSorted((one, other) => numberOf(other) - numberOf(one));
  const path = join(folder, newest ?? '');
  const { size } = await stat(path);
  await truncate(path, Math.max(0, size - Math.floor(Math.random() * Math.min(cutMost, size / 2))));
}

async function waitForExit(pid: number): Promise<void> {
  for (;;)
    try {
      process.kill(pid, 0);
      await sleep(10);
    } catch {
      return;
    }
}

const killStore = (stores: Stores, which: keyof Stores['processes'], meanwhile?: () => Promise<void>): Fault => ({
  name: `SIGKILL ${which}${meanwhile ? ', which loses its last writes' : ''}`,
  target: which,
  isAlone: meanwhile !== undefined,
  run: async () => {
    const pid = stores.processes[which];
    if (pid !== undefined) {
      signal(pid, 'SIGKILL');
      await waitForExit(pid);
    }
    await meanwhile?.();
    await stores.restart(which === 'redis' ? 'redis' : 'database');
  },
});

/** Cuts every subscription of every process at the Redis nodes in `urls`. */
const cutSubscriptions = (urls: readonly string[]): Fault => ({
  name: 'CLIENT KILL TYPE pubsub',
  target: 'redis',
  run: async () => {
    for (const url of urls) {
      const redis = new Redis(url, { retryStrategy: () => 100 });
      redis.on('error', () => undefined);
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub').catch(() => undefined); // the node may be down
      redis.disconnect();
    }
  },
});

/** Kills a master and waits until a replica is promoted; the killed node then returns as a replica. */
const killMaster = (cluster: RedisCluster): Fault => ({
  name: 'SIGKILL of a master',
  target: 'redis',
  run: async () => {
    const up = cluster.nodes.filter(({ pid }) => pid !== undefined);
    const roles = await Promise.all(up.map((node) => node.role()));
    const masters = up.filter((_, at) => roles[at] === 'master');
    const master = masters[Math.floor(Math.random() * masters.length)];
    await master?.kill();
    while (
      (await Promise.all(up.filter((node) => node !== master).map((node) => node.role()))).filter((role) => role === 'master').length <
      masters.length
    )
      await sleep(100);
    await master?.start();
    await cluster.healthy();
  },
});

/** Faults of Redis. */
export interface RedisFaults {
  cut: Fault;
  kills: Fault[];
}

/** Faults of a Redis that was started in `dataDir` and is not supervised. */
export const singleRedisFaults = (stores: Stores, dataDir: string): RedisFaults => ({
  cut: cutSubscriptions([stores.redisUrl]),
  kills: [killStore(stores, 'redis'), killStore(stores, 'redis', () => cutLog(dataDir))],
});

/** Faults of a Redis Cluster. */
export const clusterFaults = (cluster: RedisCluster): RedisFaults => ({
  cut: cutSubscriptions(
    cluster.nodes.map(({ port }) => `${cluster.url.replace(/^redis\+cluster/, 'redis').replace(/@.*/, '')}@127.0.0.1:${port}`),
  ),
  kills: [killMaster(cluster), killMaster(cluster)],
});

/** Faults between the log and clients. */
export const gatewayFaults = ({ gateways }: Stack, { cut }: RedisFaults): Fault[] => [
  ...gateways.map(killRole),
  ...gateways.map(() => cut),
];

/** Faults of processes. */
export const roleFaults = ({ apis, gateways, workers }: Stack): Fault[] => [
  ...[apis, workers].flatMap((roles) => roles.map(killRole)),
  ...[gateways, workers].flatMap((roles) => roles.map(pauseRole)),
];

/** Faults of a database that is not supervised. */
export const databaseFaults = (stores: Stores): Fault[] =>
  (['postgres', 'gateway', 'mongod'] as const).filter((name) => stores.processes[name]).map((name) => killStore(stores, name));

/** `list` in a random order. */
export function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((one) => ({ one, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

/** The maximum number of concurrent faults. */
const underWayMost = 2;

/** Runs faults after one another, with `everyMs` between them on average. Resolves with their number when everything works again. */
async function runFaults(faults: Iterable<Fault>, everyMs: number, report: (line: string) => void): Promise<number> {
  const underWay = new Map<Fault, Promise<void>>();
  const run = async (fault: Fault): Promise<void> => {
    const began = performance.now();
    await fault.run();
    report(`${fault.name}: recovered after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    underWay.delete(fault);
  };
  const isFree = ({ target, isAlone = false }: Fault): boolean =>
    underWay.size < (isAlone ? 1 : underWayMost) && ![...underWay.keys()].some((one) => one.target === target || one.isAlone);
  let count = 0;
  for (const fault of faults) {
    await sleep(everyMs * (0.5 + Math.random()));
    while (!isFree(fault)) await Promise.race(underWay.values());
    underWay.set(fault, run(fault));
    count++;
  }
  await Promise.all(underWay.values());
  return count;
}

function* inRounds(faults: readonly Fault[], isOver: () => boolean): Generator<Fault> {
  for (let bag = faults.slice(0, 1); !isOver(); ) {
    if (bag.length === 0) bag = shuffled(faults);
    yield bag.pop() as Fault;
  }
}

/**
 * Runs faults until `isOver`: first that at the head of the list, as a slow machine may have time for no other, then rounds of all in a random order. Resolves with
 * their number when everything works again.
 */
export const injectFaults = (
  faults: readonly Fault[],
  everyMs: number,
  isOver: () => boolean,
  report: (line: string) => void,
): Promise<number> => runFaults(inRounds(faults, isOver), everyMs, report);

/** Runs one fault of each kind in a random order; faults of several processes of a role are one kind. Resolves as `injectFaults` does. */
export function injectEach(faults: readonly Fault[], everyMs: number, report: (line: string) => void): Promise<number> {
  // The gateway of the database has the name of a role.
  const kinds = new Map(shuffled(faults).map((fault) => [`${typeof fault.target} ${fault.name.replace(/ \d+$/, '')}`, fault]));
  return runFaults(shuffled([...kinds.values()]), everyMs, report);
}
