import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Stores } from '../../apps/local/stores.ts';
import type { RedisCluster } from '../harness/redis-cluster.ts';
import type { RoleProcess, Stack } from '../harness/stack.ts';

/** Something that goes wrong, and is well again when `run` resolves. */
export interface Fault {
  name: string;
  /** What it happens to: one thing goes wrong with it at a time. */
  target: unknown;
  run: () => Promise<void>;
  /** Whether nothing else may go wrong meanwhile. */
  isAlone?: boolean;
}

/** How long a process is paused at most: longer than a worker holds a batch and a node its lease. In milliseconds. */
const pauseMostMs = 8_000;
/** How much of its log Redis loses at most, in bytes. */
const cutMost = 100_000;

/** Sends a signal to a process that may have ended. */
function signal(pid: number | undefined, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const killRole = (role: RoleProcess, at: number): Fault => ({
  name: `SIGKILL ${role.name} ${at}`,
  target: role,
  run: async () => {
    await role.stop('SIGKILL');
    await role.start();
  },
});

const pauseRole = (role: RoleProcess, at: number): Fault => ({
  name: `SIGSTOP ${role.name} ${at}`,
  target: role,
  run: async () => {
    const pid = role.pid();
    signal(pid, 'SIGSTOP');
    await sleep(1_000 + Math.random() * (pauseMostMs - 1_000));
    signal(pid, 'SIGCONT');
  },
});

/** Takes the end off the file that Redis writes last: what an everysec fsync loses when the machine goes down. */
async function cutLog(dataDir: string): Promise<void> {
  const folder = join(dataDir, 'redis', 'appendonlydir');
  const numberOf = (name: string): number => Number(/\.(\d+)\.incr\.aof$/.exec(name)?.[1] ?? 0);
  const [newest] = (await readdir(folder)).toSorted((one, other) => numberOf(other) - numberOf(one));
  const path = join(folder, newest ?? '');
  const { size } = await stat(path);
  await truncate(path, Math.max(0, size - Math.floor(Math.random() * Math.min(cutMost, size / 2))));
}

async function gone(pid: number): Promise<void> {
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
      await gone(pid);
    }
    await meanwhile?.();
    await stores.restart(which === 'redis' ? 'redis' : 'database');
  },
});

/** Every subscription of every process is cut at the Redis nodes that `urls` name. */
const cutSubscriptions = (urls: readonly string[]): Fault => ({
  name: 'CLIENT KILL TYPE pubsub',
  target: 'redis',
  run: async () => {
    for (const url of urls) {
      const redis = new Redis(url, { retryStrategy: () => 100 });
      redis.on('error', () => undefined);
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub').catch(() => undefined); // of a node that is down
      redis.disconnect();
    }
  },
});

/** A master is killed; another node takes its place, and it comes back as its replica. */
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

/** What goes wrong with Redis. */
export interface RedisFaults {
  cut: Fault;
  kills: Fault[];
}

/** What goes wrong with a Redis that was started in `dataDir` and is not supervised. */
export const singleRedisFaults = (stores: Stores, dataDir: string): RedisFaults => ({
  cut: cutSubscriptions([stores.redisUrl]),
  kills: [killStore(stores, 'redis'), killStore(stores, 'redis', () => cutLog(dataDir))],
});

/** What goes wrong with a Redis Cluster. */
export const clusterFaults = (cluster: RedisCluster): RedisFaults => ({
  cut: cutSubscriptions(
    cluster.nodes.map(({ port }) => `${cluster.url.replace(/^redis\+cluster/, 'redis').replace(/@.*/, '')}@127.0.0.1:${port}`),
  ),
  kills: [killMaster(cluster), killMaster(cluster)],
});

/** What goes wrong between the log and clients. */
export const gatewayFaults = ({ gateways }: Stack, { cut }: RedisFaults): Fault[] => [
  ...gateways.map(killRole),
  ...gateways.map(() => cut),
];

/** What goes wrong in processes. */
export const roleFaults = ({ apis, gateways, workers }: Stack): Fault[] => [
  ...[apis, workers].flatMap((roles) => roles.map(killRole)),
  ...[gateways, workers].flatMap((roles) => roles.map(pauseRole)),
];

/** What goes wrong with a database that is not supervised. */
export const databaseFaults = (stores: Stores): Fault[] =>
  (['postgres', 'gateway', 'mongod'] as const).filter((name) => stores.processes[name]).map((name) => killStore(stores, name));

/** `list` in a random order. */
function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((one) => ({ one, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

/** How much may be out of order at once. */
const underWayMost = 2;

/** Runs faults in a random order, each of them before any comes again, until `isOver`; resolves when all is well again. Answers how many. */
export async function injectFaults(
  faults: readonly Fault[],
  everyMs: number,
  isOver: () => boolean,
  report: (line: string) => void,
): Promise<number> {
  const underWay = new Map<Fault, Promise<void>>();
  const run = async (fault: Fault): Promise<void> => {
    const began = performance.now();
    await fault.run();
    report(`${fault.name}: well again after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    underWay.delete(fault);
  };
  const isFree = ({ target, isAlone = false }: Fault): boolean =>
    underWay.size < (isAlone ? 1 : underWayMost) && ![...underWay.keys()].some((one) => one.target === target || one.isAlone);
  let count = 0;
  for (let bag: Fault[] = []; !isOver(); count++) {
    await sleep(everyMs * (0.5 + Math.random()));
    if (bag.length === 0) bag = shuffled(faults);
    const fault = bag.pop() as Fault;
    while (!isFree(fault)) await Promise.race(underWay.values());
    underWay.set(fault, run(fault));
  }
  await Promise.all(underWay.values());
  return count;
}
