import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import type { Config } from '../../config/index.ts';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { spareDatabases } from './spare-databases.ts';
import { isReady, roleEnv, rolePath } from './stack.ts';

/** A role that runs as a separate process on the stores of a fixture. */
export interface OwnProcess {
  /** The URL it listens on. */
  url: string;
  pid: number;
  /** Kills the process; has no effect after it has ended. SIGKILL by default. */
  kill(signal?: NodeJS.Signals): void;
  /** Its exit code and signal, once it has ended. */
  ended: Promise<unknown[]>;
  /** Resolves when the process has logged `message` at level `info` or above. */
  logged(message: string): Promise<void>;
}

/**
 * Starts an api or a worker of the compiled code (`npm run build`) on the stores and settings of `config`, and waits until it is ready. It exits at
 * `failpoint`, and at the latest at the end of the test run.
 */
export async function startOwn(
  role: 'api' | 'worker',
  config: Config,
  { failpoint = '', env = {} }: { failpoint?: Failpoint | ''; env?: Record<string, string> } = {},
): Promise<OwnProcess> {
  const { MONGODB_URL, REDIS_URL, REDIS_PREFIX, FILES_DIR, APP_KEY, OUTBOUND_ALLOW, STORE_TIMEOUT_FACTOR } = config;
  const PORT = String(await freePort());
  spareDatabases.spend(MONGODB_URL);
  const own = {
    MONGODB_URL,
    REDIS_URL,
    REDIS_PREFIX,
    FILES_DIR,
    APP_KEY: APP_KEY.toString('base64'),
    OUTBOUND_ALLOW: OUTBOUND_ALLOW.join(','),
    STORE_TIMEOUT_FACTOR: String(STORE_TIMEOUT_FACTOR),
  };
  const child = spawn(process.execPath, [rolePath(role)], {
    env: roleEnv({ ...own, PORT, LOG_LEVEL: 'info', RATE_LIMIT: 'off', FAILPOINTS: failpoint, ...env }),
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const lines: string[] = [];
  const waiting: (() => void)[] = [];
  if (!child.stdout) throw new Error('no output');
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const look of waiting) look();
  });
  const ended = once(child, 'exit');
  await isReady(child);
  return {
    url: `http://127.0.0.1:${PORT}`,
    pid: child.pid ?? 0,
    kill: (signal = 'SIGKILL') => void child.kill(signal),
    ended,
    logged: (message) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (lines.some((line) => line.includes(message))) resolve();
        };
        waiting.push(look);
        look();
      }),
  };
}

/** Returns a function that starts a process which dies at `failpoint`, on the stores of `config`. The process is killed after each test. */
export function useOwnProcess(config: () => Config): (role: 'api' | 'worker', failpoint: Failpoint | '') => Promise<OwnProcess> {
  const started: OwnProcess[] = [];
  afterEach(() => {
    for (const child of started.splice(0)) child.kill();
  });
  return async (role, failpoint) => {
    const child = await startOwn(role, config(), { failpoint });
    started.push(child);
    return child;
  };
}

/** Runs `act`, which lets the process reach its failpoint, and expects that it dies. */
export async function expectKilled({ ended }: OwnProcess, act: () => Promise<unknown>): Promise<void> {
  await act();
  expect((await ended)[1]).to.equal('SIGKILL');
}

/** Sends a request that kills the process, and expects that it gets no response. */
export const sendFatal = (
  child: OwnProcess,
  as: string | null,
  method: string,
  path: string,
  body?: unknown,
  more: Record<string, string> = {},
): Promise<void> =>
  expectKilled(child, async () => {
    const headers = { 'Content-Type': 'application/json', ...(as && { Authorization: as }), ...more };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const status = await fetch(child.url + path, init).then(
      (response) => response.status,
      () => null,
    );
    expect(status).to.equal(null);
  });
