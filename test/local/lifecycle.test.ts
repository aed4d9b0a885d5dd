import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { isAlive } from '../../apps/local/lock.ts';

const fixture = fileURLToPath(new URL('./fixtures/until-stopped.ts', import.meta.url));

/** Collects the output of a process; `until` waits for a text in it. */
function collectOutput(child: ChildProcess): { until(text: string): Promise<string> } {
  let collected = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    collected += chunk;
  });
  return {
    until: async (text) => {
      while (!collected.includes(text)) await once(child.stdout as NodeJS.ReadableStream, 'data');
      return collected;
    },
  };
}

describe('runUntilStopped', () => {
  let orphan: number | undefined;
  // It still runs only if the test failed.
  after(() => orphan && isAlive(orphan) && process.kill(orphan, 'SIGKILL'));

  it('stops everything on SIGINT, SIGTERM and SIGHUP', async () => {
    const runs = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map(async (signal) => {
      const child = spawn(process.execPath, ['--import=tsx', fixture], { stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = once(child, 'exit');
      const output = collectOutput(child);
      await output.until('started');
      child.kill(signal);
      await output.until('Stopped.');
      expect((await ended)[0], signal).to.equal(0);
    });
    await Promise.all(runs);
  });

  it('stops when the npm process that started it has ended', async () => {
    const env = { ...process.env, npm_lifecycle_event: 'start' };
    const shell = spawn('/bin/sh', ['-c', `"${process.execPath}" --import=tsx "${fixture}"; true`], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const output = collectOutput(shell);
    orphan = Number(/started (\d+)/.exec(await output.until('\n'))?.[1]);
    shell.kill('SIGTERM');
    await output.until('Stopped.');
  });
});
