import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 100;

/**
 * Runs `work` while holding the lock file `path`, which names the holder's process. Waits without a limit while the holder is alive, and takes over the lock
 * of a dead process.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  let release = await tryLock(path);
  for (; !release; release = await tryLock(path)) await sleep(pollMs);
  try {
    return await work();
  } finally {
    await release();
  }
}

/** Takes the lock file `path` and returns a function that releases it; undefined if a living process holds it. */
export async function tryLock(path: string): Promise<(() => Promise<void>) | undefined> {
  // The lock is a hard link to a file that is already written, so nobody reads a lock without a holder.
  const ownFile = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(ownFile, await identityOf(process.pid));
  try {
    if (!(await tryLink(ownFile, path)) && !(await takeOver(ownFile, path))) return undefined;
  } finally {
    await rm(ownFile, { force: true });
  }
  return () => rm(path, { force: true });
}

async function takeOver(ownFile: string, path: string): Promise<boolean> {
  const holder = await readFile(path, 'utf8').catch(() => '');
  const pid = Number(holder.split(' ')[0]);
  if (holder && isAlive(pid) && (await identityOf(pid)) === holder) return false;
  await rm(path, { force: true });
  return tryLink(ownFile, path);
}

/** Identifies a process by id and start time, because a restarted container uses the same ids again. */
async function identityOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return `${pid} ${stat.slice(stat.lastIndexOf(')')).split(' ')[20] ?? ''}`;
}

/** Whether a process with this id exists, of any user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function tryLink(ownFile: string, path: string): Promise<boolean> {
  return link(ownFile, path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
}
