import { setTimeout as sleep } from 'node:timers/promises';
import type { Stores } from '../../apps/local/stores.ts';
import { childrenOf, ownCpuMs, readProc } from '../harness/cpu-time.ts';
import type { Stack } from '../harness/stack.ts';

/** What uses CPU time: the processes of a role, or those of the database. */
export type Consumer = 'api' | 'gateway' | 'worker' | 'database';

/** CPU time in milliseconds. */
type CpuTimes = Record<Consumer, number>;

/** The processes of PostgreSQL, each with whether it serves a client and whether it vacuums or analyzes a table. */
async function findPostgresProcesses(postgres: number): Promise<{ pid: number; servesClient: boolean; isVacuuming: boolean }[]> {
  return await Promise.all(
    (await childrenOf(postgres)).map(async (pid) => {
      const title = await readProc(`/proc/${pid}/cmdline`);
      return { pid, servesClient: title.includes('[local]'), isVacuuming: title.includes('autovacuum worker') };
    }),
  );
}

/** Whether PostgreSQL vacuums or analyzes a table, as it does during an import and for some time after it. */
export const isVacuuming = async ({ processes: { postgres } }: Stores): Promise<boolean> =>
  postgres !== undefined && (await findPostgresProcesses(postgres)).some((one) => one.isVacuuming);

/** The processes that run commands of the database, without those that write and vacuum in the background; none if it was not started here. */
export async function findDatabasePids({ processes: { mongod, gateway, postgres } }: Stores): Promise<number[]> {
  const backends = postgres === undefined ? [] : (await findPostgresProcesses(postgres)).filter(({ servesClient }) => servesClient);
  return [mongod, gateway, ...backends.map(({ pid }) => pid)].filter((pid) => pid !== undefined);
}

/** The CPU time of each of these processes, in milliseconds. */
export const readCpuOfEach = async (pids: readonly number[]): Promise<Map<number, number>> =>
  new Map(await Promise.all(pids.map(async (pid) => [pid, await ownCpuMs(pid)] as const)));

/** The CPU time that processes have used between two readings, in milliseconds. What a process used that has ended since is not counted. */
export const usedCpuMs = (before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number =>
  [...after].reduce((sum, [pid, cpuMs]) => sum + cpuMs - (before.get(pid) ?? 0), 0);

/** CPU time that was used, and in which time, in milliseconds. */
export interface CpuRound {
  cpu: CpuTimes;
  ms: number;
}

/** How long to wait for the work after the last response, such as acknowledgements of the relay, in milliseconds. */
const settleMs = 300;

/** Starts to measure the CPU time of a stack and its stores. The returned function waits shortly and returns the CPU time since then. Linux only. */
export async function startCpuMeter(
  { apis, gateways, workers }: Pick<Stack, 'apis' | 'gateways' | 'workers'>,
  stores: Stores,
): Promise<() => Promise<CpuRound>> {
  const pidsOf = (roles: Stack['apis']): number[] => roles.flatMap((role) => role.pid() ?? []);
  const readTimes = async (): Promise<Record<Consumer, Map<number, number>>> => {
    const pids = { api: pidsOf(apis), gateway: pidsOf(gateways), worker: pidsOf(workers), database: await findDatabasePids(stores) };
    const timesOf = (name: Consumer) => readCpuOfEach(pids[name]);
    const [api, gateway, worker, database] = await Promise.all([
      timesOf('api'),
      timesOf('gateway'),
      timesOf('worker'),
      timesOf('database'),
    ]);
    return { api, gateway, worker, database };
  };
  const before = await readTimes();
  const began = performance.now();
  return async () => {
    await sleep(settleMs);
    const ms = performance.now() - began;
    const after = await readTimes();
    const used = (name: Consumer): number => usedCpuMs(before[name], after[name]);
    return { cpu: { api: used('api'), gateway: used('gateway'), worker: used('worker'), database: used('database') }, ms };
  };
}

/** The CPU time of one of `count` operations in a round, without what the idle processes use, in milliseconds. */
export function cpuOfOne(round: CpuRound, count: number, idle: readonly CpuRound[], consumer: Consumer): number {
  const idleCpuMs = idle.reduce((sum, { cpu }) => sum + cpu[consumer], 0);
  const idleMs = idle.reduce((sum, { ms }) => sum + ms, 0);
  return (round.cpu[consumer] - (idleCpuMs / idleMs) * round.ms) / count;
}
