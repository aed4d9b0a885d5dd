import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';

/** A beat of the event loop in these tests, and a time in which the watchdog sees more missed beats than it allows, in milliseconds. */
const beatMs = 10;
const tooLongMs = 100 * beatMs;

const lib = (name: string): string => JSON.stringify(new URL(`../../lib/base/${name}.ts`, import.meta.url).href);
const begin = `
import { createLog } from ${lib('log')};
import { startWatchdog } from ${lib('watchdog')};
await startWatchdog(createLog('test', process.env.LOG_LEVEL), ${beatMs});
process.on('message', () => process.exit(3));
`;
const started: ChildProcess[] = [];
const start = (program: string, { args = [] as string[], level = 'info' } = {}) => {
  const child = spawn(process.execPath, [...args, '--import=tsx', '--input-type=module', '--eval', begin + program], {
    env: { ...process.env, LOG_LEVEL: level },
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
  });
  started.push(child);
  if (!child.stdout) throw new Error('no output');
  return { child, output: text(child.stdout), exited: once(child, 'exit') };
};

describe('the watchdog of the event loop', () => {
  afterEach(() => {
    for (const child of started.splice(0)) child.kill('SIGKILL');
  });

  for (const [how, program] of [
    ['a loop', 'for (;;);'],
    ['a loop of microtasks', 'for (;;) await null;'],
    ['a call that waits', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);'],
  ] as const)
    it(`ends a process that is blocked by ${how}, with one log line`, async () => {
      const { child, output, exited } = start(program);
      const line: unknown = JSON.parse(await output);
      expect(line).to.deep.include({ level: 60, role: 'test', pid: child.pid });
      expect(line).to.have.property('msg', `the event loop was blocked for ${(30 * beatMs) / 1000} s; ending the process`);
      expect(await exited).to.deep.equal([null, 'SIGKILL']);
    });

  it('writes no line in a process that logs nothing', async () => {
    const { output, exited } = start('for (;;);', { level: 'silent' });
    expect(await output).to.equal('');
    expect(await exited).to.deep.equal([null, 'SIGKILL']);
  });

  it('does not count the time in which the whole process was stopped', async () => {
    const { child, exited } = start("process.send('running');");
    await once(child, 'message');
    child.kill('SIGSTOP');
    await pause(tooLongMs);
    child.kill('SIGCONT');
    await pause(tooLongMs);
    child.send('end');
    expect(await exited).to.deep.equal([3, null]);
  });

  it('does not count the time in which a debugger is active', async () => {
    const block = `const end = Date.now() + ${tooLongMs}; setTimeout(() => { while (Date.now() < end); process.exit(4); }, ${2 * beatMs});`;
    const { exited } = start(block, { args: ['--inspect=0'] });
    expect(await exited).to.deep.equal([4, null]);
  });
});
