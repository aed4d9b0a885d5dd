// Tests of the Python kit: programs that use it, as processes, with all roles behind them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { freePort } from '../../../apps/local/probe.ts';
import { findPython } from '../../../apps/local/python.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { type Bot, postMessage } from '../../harness/factories.ts';
import { startParlance, type TestParlance } from '../../harness/parlance.ts';
import { type Given, newBot, useServer } from '../../harness/use.ts';
import { type Invocations, useInvocations } from '../invocations.ts';

const folder = resolve('test/sdk/python/programs');
/** The folder of the kit. */
export const kitFolder = resolve('sdk/python');

/** A line of JSON that a program has printed. */
type Line = Record<string, unknown>;

/** A running program. */
export interface Program {
  lines: Line[];
  /** What it has written to stderr: its log. */
  log: () => string;
  /** The first line, printed already or still to come, for which `wanted` returns true. Rejects when the program ends before. */
  waitFor(wanted: (line: Line) => boolean): Promise<Line>;
  /** Sends one line of JSON to its stdin. */
  write(value: unknown): void;
  /** Resolves with the exit code when the program has ended. */
  ended: Promise<number | null>;
  /** Sends `signal`, by default SIGTERM, and waits for the end; returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** The contents of the messages that the program `record` has printed. */
export const contentsOf = ({ lines }: Program): unknown[] => lines.flatMap(({ content }) => content ?? []);

/** The Python of these tests, or a word that no program has if there is none: then all tests are skipped. */
export const python = findPython() ?? 'python-is-missing';

/** Skips the tests of a `describe` when there is no Python. */
export function skipWithoutPython(): void {
  before(function () {
    if (!findPython()) this.skip();
  });
}

/** Starts a program with only `env`. */
export function startProgram(command: string, args: string[], env: Record<string, string>, cwd = folder): Program {
  const child: ChildProcess = spawn(command, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '', PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: kitFolder, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines: Line[] = [];
  let [rest, log, hasEnded] = ['', '', false];
  let notify = (): void => undefined;
  let next = new Promise<void>((done) => {
    notify = done;
  });
  const change = (): void => {
    notify();
    next = new Promise((done) => {
      notify = done;
    });
  };
  child.stdout?.on('data', (piece: Buffer) => {
    const pieces = (rest + piece.toString('utf8')).split('\n');
    rest = pieces.pop() ?? '';
    lines.push(...pieces.filter(Boolean).map((line) => JSON.parse(line) as Line));
    change();
  });
  child.stderr?.on('data', (piece: Buffer) => (log += piece.toString('utf8')));
  child.stdin?.on('error', () => undefined); // it has ended
  const ended = once(child, 'close').then(([code]) => {
    hasEnded = true;
    change();
    return code as number | null;
  });
  return {
    lines,
    log: () => log,
    ended,
    write: (value) => void child.stdin?.write(`${JSON.stringify(value)}\n`),
    async waitFor(wanted) {
      for (;;) {
        const found = lines.find(wanted);
        if (found) return nextTurn(found); // what it wrote to stderr before that line has been read then, too
        if (hasEnded) throw new Error(`the program has ended: ${log}`);
        await next;
      }
    },
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
  };
}

/** Starts programs of the folder `programs`, and kills those that still run after each test, or with `all` after all tests. */
export function usePrograms({ all = false } = {}): (name: string, env?: Record<string, string>, ...args: string[]) => Program {
  const running: Program[] = [];
  skipWithoutPython();
  (all ? after : afterEach)(() => Promise.all(running.splice(0).map((program) => program.stop('SIGKILL'))));
  return (name, env = {}, ...args) => {
    const program = startProgram(python, [`${name}.py`, ...args], env);
    running.push(program);
    return program;
  };
}

/** All roles, a server with its owner, and a bot in it. */
export interface PythonKit extends Given<TestParlance>, Invocations {
  bot: Bot & { roleId: string };
  /** The environment of a program that is the bot. */
  env: () => { PARLANCE_URL: string; PARLANCE_TOKEN: string };
  post(content: string): Promise<Message>;
}

/** Starts the fixture before the tests of a `describe`. */
export function usePythonKit(overrides: () => Promise<Record<string, string>> = async () => ({})): PythonKit {
  skipWithoutPython();
  const start = async (): Promise<TestParlance> => startParlance({ GATEWAY_PORT: String(await freePort()), ...(await overrides()) });
  const given = useServer({ bot: newBot(0b1111) }, { start });
  const { api, owner, server, bot } = given;
  const invocations = useInvocations(given);
  return {
    ...given,
    ...invocations,
    env: () => ({ PARLANCE_URL: api.url, PARLANCE_TOKEN: bot.token }),
    post: (content) => postMessage(api, owner, server.general, content),
  };
}
