import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeKitFolder } from '../harness/kit-folder.ts';

/** Runs code samples of a page, as a person who copies them would. */
export interface CodeRunner {
  /** Saves `code` as `file`, runs it with Node.js and only `env`, and waits until it prints `ready`. Rejects when it exits before. */
  run: (file: string, code: string, env: Record<string, string>, ready: string) => Promise<void>;
  /** Stops the running code, so that its port is free again. */
  stop: () => Promise<void>;
}

/** Creates a folder with the kit for the tests of the calling file. Code that still runs when a test ends is stopped. */
export function useCodeRunner(): CodeRunner {
  const running: ChildProcess[] = [];
  let folder = '';
  before(() => {
    folder = makeKitFolder();
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
      let output = '';
      await new Promise<void>((done, failed) => {
        const onOutput = (piece: Buffer): void => {
          output += String(piece);
          if (output.includes(ready)) done();
        };
        child.stdout.on('data', onOutput);
        child.stderr.on('data', onOutput);
        child.once('exit', () => failed(new Error(`${file} ended: ${output}`)));
      });
    },
  };
}
