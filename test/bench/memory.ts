import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const collector = new URL(`./bare/collect${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url).href;

/** Prepares to measure memory: a folder, and the environment for the processes whose memory is measured. */
export async function collectEnv(): Promise<{ dir: string; env: Record<string, string>; close(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'parlance-bench-memory-'));
  return {
    dir,
    env: { NODE_OPTIONS: `--import ${collector}`, MEMORY_DIR: dir },
    close: () => rm(dir, { recursive: true, force: true }),
  };
}

/** The memory of a process that was started with the environment of `collectEnv`, after a garbage collection, in bytes. */
export async function measureMemory(dir: string, pid: number): Promise<number> {
  const file = join(dir, String(pid));
  await rm(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (;;) {
    await sleep(100);
    const text = await readFile(file, 'utf8').catch(() => '');
    if (text !== '') return Number(text);
  }
}
