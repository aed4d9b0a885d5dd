import { readdir, readFile } from 'node:fs/promises';

/** What Linux calls a clock tick in /proc, in milliseconds. */
const tickMs = 10;

/** The text of a file of /proc; empty when its process has ended. */
export const readProc = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

/** The fields of /proc/<pid>/stat after the name: `state`, the parent's process id, and so on. */
const statOf = async (pid: number): Promise<string[]> => (await readProc(`/proc/${pid}/stat`)).replace(/^.*\) /s, '').split(' ');
const [parentField, endedChildrenUserField, endedChildrenSystemField] = [1, 13, 14];

/** The CPU time that a process has used, in milliseconds: of its threads, and of its children that have ended. 0 if there is no such process. Linux only. */
export async function ownCpuMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const ran = await Promise.all(
    threads.map(async (thread) => Number((await readProc(`/proc/${pid}/task/${thread}/schedstat`)).split(' ')[0])),
  );
  const stat = await statOf(pid);
  const endedTicks = Number(stat[endedChildrenUserField] ?? 0) + Number(stat[endedChildrenSystemField] ?? 0);
  return ran.reduce((sum, ns) => sum + ns / 1e6, 0) + endedTicks * tickMs;
}

/** The processes that a process has started and that are still running. */
export async function childrenOf(pid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((one) => one > 0);
  const parents = await Promise.all(pids.map(async (one) => Number((await statOf(one))[parentField])));
  return pids.filter((_one, at) => parents[at] === pid);
}
