import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 100;

/**
 * Runs `work` while holding the lock file `path`, which names the holder's process. Waits for a living holder as long as it takes; the lock
 * of a dead process is taken over.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  // The file appears with its content (a link to a written one), so nobody reads a lock without a holder.
  const mine = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(mine, String(process.pid));
  try {
    while (!(await taken(mine, path))) {
      const holder = Number(await readFile(path, 'utf8').catch(() => '0'));
      if (holder > 0 && !isAlive(holder)) await rm(path, { force: true });
      else await sleep(pollMs);
    }
  } finally {
    await rm(mine, { force: true });
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

/** Whether a process with this id exists, of whatever user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function taken(mine: string, path: string): Promise<boolean> {
  return link(mine, path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
}
