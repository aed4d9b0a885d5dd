import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findDatabasePids, readCpuOfEach, usedCpuMs } from '../bench/cpu.ts';
import { collectEnv, measureMemory } from '../bench/memory.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../bench/setting.ts';
import { cpuMsOf, isNamed, residentBytes } from '../harness/cpu-time.ts';
import { type RoleProcess, type Stack, startStack } from '../harness/stack.ts';
import type { Act, Acted, ClientsAsk } from './clients.ts';
import { type Cpu, mapParts, type Part, type Role } from './costs.ts';
import { watchSpeed } from './speed.ts';

/** CPU time that was used while something was done, as a multiple of the CPU time of a fixed computation at that moment (`watchSpeed`). */
export interface Sample<T> {
  cpu: Cpu;
  seconds: number;
  result: T;
}

/** A stack of processes whose CPU time and memory are measured, with clients in a process of their own. */
export interface Lab {
  setting: Setting;
  hasDatabase: boolean;
  gatewayUrls(): string[];
  /** Measures the CPU time of all parts while `work` runs, and for a moment after it, in which workers finish what it has caused. */
  sample<T>(work: () => Promise<T>): Promise<Sample<T>>;
  /** The CPU time of the fixed computation in each sample so far, in milliseconds. */
  references: readonly number[];
  /** Tells the clients to do something, and waits until it is done. */
  ask(ask: ClientsAsk): Promise<void>;
  act(acts: Act[], seconds: number): Promise<Acted>;
  /** Starts another process of a role. */
  add(role: Role): Promise<void>;
  /** The memory of the first gateway node after a garbage collection, and the resident memory of the first process of a role, in bytes. */
  gatewayHeap(): Promise<number>;
  resident(role: Role): Promise<number>;
  redis: Redis;
  close(): Promise<void>;
}

/** How many calls warm up the processes, so that their code is compiled. */
export const warmCalls = 3_000;

/** How long a sample goes on after its work, in milliseconds: workers acknowledge events after up to 100 ms. */
const settleMs = 300;
const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * The processes of the database, if they run on this machine: those that were started here, or the local `mongod` of `MONGODB_URL`. Those that vacuum are left
 * out: they run minutes after the writes that they follow.
 */
async function findDatabase(bench: Bench, { platform, config }: Setting): Promise<number[]> {
  const started = await findDatabasePids(bench.stores);
  if (started.length > 0 || !loopback.includes(new URL(config.MONGODB_URL).hostname)) return started;
  const status: unknown = await platform.db.messages.db
    .admin()
    .command({ serverStatus: 1 })
    .catch(() => null);
  const pid = Number(typeof status === 'object' && status !== null && 'pid' in status ? status.pid : 0);
  return (await isNamed(pid, 'mongod')) ? [pid] : [];
}

const infoOf = (text: string, name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)?.[1] ?? 0);

/** Starts a lab with `counts` processes on a fresh database of `bench`. */
export async function openLab(bench: Bench, counts: Record<Role, number>): Promise<Lab> {
  const collecting = await collectEnv();
  // CPU time is measured, not time, so stores may take as long as they need on a busy machine.
  const setting = await openSetting(bench, counts, { TRUST_PROXY: '1', STORE_TIMEOUT_FACTOR: '10', ...collecting.env });
  const clients = await startHelper('clients', {}, new URL('./', import.meta.url));
  const redis = new Redis(setting.config.REDIS_URL);
  const hasDatabase = (await findDatabase(bench, setting)).length > 0;
  const added: Stack[] = [];
  const references: number[] = [];
  const processesOf = (role: Role): RoleProcess[] => [setting.stack, ...added].flatMap((stack) => stack[`${role}s`]);
  const pidsOf = (role: Role): number[] => processesOf(role).flatMap((one) => one.pid() ?? []);
  const readCpu = async () => {
    const [info, api, gateway, worker, database] = await Promise.all([
      redis.info('cpu'),
      cpuMsOf(pidsOf('api')),
      cpuMsOf(pidsOf('gateway')),
      cpuMsOf(pidsOf('worker')),
      findDatabase(bench, setting).then(readCpuOfEach),
    ]);
    const redisSec = ['user', 'sys', 'user_children', 'sys_children'].reduce((sum, name) => sum + infoOf(info, `used_cpu_${name}`), 0);
    return { roles: { api, gateway, worker, redis: redisSec * 1000 }, database };
  };
  return {
    setting,
    hasDatabase,
    gatewayUrls: () => processesOf('gateway').map(({ port }) => `ws://127.0.0.1:${port}/gateway?v=1`),
    references,
    async sample(work) {
      const began = performance.now();
      const before = await readCpu();
      const endSpeed = watchSpeed();
      const result = await work();
      await sleep(settleMs);
      const after = await readCpu();
      const reference = endSpeed();
      references.push(reference);
      const used = (part: Part): number =>
        part === 'database' ? usedCpuMs(before.database, after.database) : after.roles[part] - before.roles[part];
      return { cpu: mapParts((part) => used(part) / reference), seconds: (performance.now() - began) / 1000, result };
    },
    ask: async (ask) => void (await clients.ask(ask)),
    act: (acts, seconds) => clients.ask<Acted>({ kind: 'act', acts, seconds } satisfies ClientsAsk),
    async add(role) {
      added.push(await startStack({ api: 0, gateway: 0, worker: 0, [role]: 1 }, setting.env));
    },
    gatewayHeap: () => measureMemory(collecting.dir, pidsOf('gateway')[0] as number),
    resident: (role) => residentBytes(pidsOf(role)[0] as number),
    redis,
    async close() {
      await clients.close();
      redis.disconnect();
      await Promise.all(added.map((stack) => stack.close()));
      await setting.close();
      await collecting.close();
    },
  };
}
