import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/index.ts';

/** The exit code and output of a process. */
export interface Run {
  exit: number | null;
  stdout: string;
  stderr: string;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The environment variables that select the stores of `config`. */
export const storesOf = ({ MONGODB_URL, REDIS_URL, REDIS_PREFIX, APP_KEY }: Config): Record<string, string> => ({
  MONGODB_URL,
  REDIS_URL,
  REDIS_PREFIX,
  APP_KEY: APP_KEY.toString('base64'),
});

function runProcess(program: string, args: readonly string[], env: Record<string, string>): Promise<Run> {
  const { MONGODB_URL: _mongo, REDIS_URL: _redis, APP_KEY: _key, ...clean } = process.env;
  const child = spawn(program, args, { cwd: root, env: { ...clean, ...env } });
  const run: Run = { exit: null, stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    run.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    run.stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...run, exit: code }));
  });
}

/** Runs a compiled script (see `npm run build`) to its end. It inherits this environment without the settings of stores, plus `env`. */
export const runScript = (script: string, args: readonly string[], env: Record<string, string>): Promise<Run> =>
  runProcess(process.execPath, [`${root}dist/${script}`, ...args], env);

/** Runs the operators' command line as a process. */
export const runOperator = (args: readonly string[], env: Record<string, string>): Promise<Run> =>
  runScript('apps/operator/main.js', args, env);

/** Runs a line of a shell, in which `$0` is the compiled operators' command line and `$1` is `argument`. */
export const runShell = (line: string, env: Record<string, string>, argument = ''): Promise<Run> =>
  runProcess('sh', ['-c', line, `${root}dist/apps/operator/main.js`, argument], env);
