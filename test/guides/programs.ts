import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findPython } from '../../apps/local/python.ts';
import { makeKitFolder, pythonKitEnv } from '../harness/kit-folder.ts';

/** Where the programs are: those that guides show, and bots as a newcomer would write them. */
const folders = ['docs/guides/code', 'test/guides/bots'];

/** A program of a guide that runs. */
export interface Program {
  /** Everything that it has printed. */
  output: string;
  /** Resolves when it has printed something that matches `wanted`; rejects if it ends before without having been stopped. */
  printed(wanted: RegExp): Promise<void>;
  /** Sends SIGTERM and resolves with the exit code when it has ended. */
  stop(): Promise<number | null>;
}

/**
 * Prepares a folder as a reader of the guides has it, with the kits of the last build, and stops the programs that still run after each test. Programs in
 * Python cannot run on a machine without one that has their packages.
 */
export function usePrograms(): { canRun: (file: string) => boolean; run: (file: string, env: Record<string, string>) => Promise<Program> } {
  const python = findPython();
  const running: Program[] = [];
  let folder = '';
  before(() => {
    folder = makeKitFolder();
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((program) => program.stop()));
  });
  after(() => {
    if (folder) rmSync(folder, { recursive: true });
  });

  const canRun = (file: string): boolean => python !== null || !file.endsWith('.py');
  const run = async (file: string, env: Record<string, string>): Promise<Program> => {
    const source = folders.map((one) => resolve(one, file)).find((path) => existsSync(path));
    if (!source) throw new Error(`there is no program ${file}`);
    copyFileSync(source, join(folder, file));
    const isPython = file.endsWith('.py');
    const child: ChildProcess = spawn(isPython ? (python ?? '') : process.execPath, [file], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...pythonKitEnv, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((done) => child.once('close', done));
    const looks = new Set<() => void>();
    let isStopped = false;
    const program: Program = {
      output: '',
      printed: (wanted) =>
        new Promise((done, failed) => {
          const look = (): void => void (wanted.test(program.output) && done());
          looks.add(look);
          look();
          void ended.then((code) => isStopped || failed(new Error(`${file} ended with ${code}: ${program.output}`)));
        }),
      stop: () => {
        isStopped = true;
        child.kill('SIGTERM');
        return ended;
      },
    };
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (piece: Buffer) => {
        program.output += String(piece);
        for (const look of looks) look();
      });
    running.push(program);
    await program.printed(/online|connected to|listening|running on/i);
    return program;
  };
  return { canRun, run };
}
