import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { isAlive } from '../../apps/local/lock.ts';

const fixture = fileURLToPath(new URL('./fixtures/until-stopped.ts', import.meta.url));

/** What a process says, as it comes. */
function wordsOf(child: ChildProcess): { until(word: string): Promise<string> } {
  let said = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  return {
    until: async (word) => {
      while (!said.includes(word)) await once(child.stdout as NodeJS.ReadableStream, 'data');
      return said;
    },
  };
}

describe('runUntilStopped', () => {
  let orphan: number | undefined;
  // Only one that did not stop is still there.
  after(() => orphan && isAlive(orphan) && process.kill(orphan, 'SIGKILL'));

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    it(`stops what was started at ${signal}`, async () => {
      const child = spawn(process.execPath, ['--import=tsx', fixture], { stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = once(child, 'exit');
      const said = wordsOf(child);
      await said.until('started');
      child.kill(signal);
      await said.until('Stopped.');
      expect((await ended)[0]).to.equal(0);
    });

  it('stops when the npm that ran it is gone, whose shell passes no signal on', async () => {
    const env = { ...process.env, npm_lifecycle_event: 'start' };
    const shell = spawn('/bin/sh', ['-c', `"${process.execPath}" --import=tsx "${fixture}"; true`], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said = wordsOf(shell);
    orphan = Number(/started (\d+)/.exec(await said.until('\n'))?.[1]);
    shell.kill('SIGTERM');
    await said.until('Stopped.');
  });
});
