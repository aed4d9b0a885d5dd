import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Runs code that a page shows, as a person would who pasted it. */
export interface ShownCode {
  /** Saves `code` as `file`, runs it by Node.js with no more than `env`, and waits until it says `ready`. Rejects when it ends before. */
  run: (file: string, code: string, env: Record<string, string>, ready: string) => Promise<void>;
  /** Ends what runs, so that its port is free again. */
  stop: () => Promise<void>;
}

/** A folder for the code that the tests of the calling file run, with our packages in reach; what still runs at a test's end is ended. */
export function useShownCode(): ShownCode {
  const running: ChildProcess[] = [];
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'shown-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  });
  async function stop(): Promise<void> {
    for (const one of running.splice(0)) {
      const ended = one.exitCode === null && one.signalCode === null ? once(one, 'exit') : undefined;
      one.kill();
      await ended;
    }
  }
  afterEach(stop);
  after(() => {
    if (folder) rmSync(folder, { recursive: true });
  });
  return {
    stop,
    async run(file, code, env, ready) {
      writeFileSync(join(folder, file), code);
      const child = spawn(process.execPath, [file], {
        cwd: folder,
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      running.push(child);
      let said = '';
      await new Promise<void>((done, failed) => {
        const hear = (piece: Buffer): void => {
          said += String(piece);
          if (said.includes(ready)) done();
        };
        child.stdout.on('data', hear);
        child.stderr.on('data', hear);
        child.once('exit', () => failed(new Error(`${file} ended: ${said}`)));
      });
    },
  };
}
