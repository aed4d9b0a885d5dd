import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort } from '../../apps/local/probe.ts';
import type { Config } from '../../config/index.ts';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { spareDatabases } from './spare-databases.ts';
import { isReady, rolePath } from './stack.ts';

/** A role that runs as a separate process on the stores of a scene. */
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
  const { MONGODB_URL, REDIS_URL, REDIS_PREFIX, FILES_DIR, APP_KEY, OUTBOUND_ALLOW } = config;
  const PORT = String(await freePort());
  spareDatabases.spend(MONGODB_URL);
  const own = {
    MONGODB_URL,
    REDIS_URL,
    REDIS_PREFIX,
    FILES_DIR,
    APP_KEY: APP_KEY.toString('base64'),
    OUTBOUND_ALLOW: OUTBOUND_ALLOW.join(','),
  };
  const child = spawn(process.execPath, [rolePath(role)], {
    env: { ...process.env, ...own, PORT, LOG_LEVEL: 'info', RATE_LIMIT: 'off', FAILPOINTS: failpoint, ...env },
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
