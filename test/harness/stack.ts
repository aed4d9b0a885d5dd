import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../apps/local/probe.ts';
import { readConfig } from '../../config/index.ts';
import { prepareDatabase } from './migrations.ts';
import { spareDatabases } from './spare-databases.ts';

/** The roles that run as processes. */
export type RoleName = 'api' | 'gateway' | 'worker' | 'ops';

const entries: Record<RoleName, string> = {
  api: 'apps/api/main',
  gateway: 'apps/gateway/main',
  worker: 'workers/main',
  ops: 'apps/ops/main',
};
/** The folder of this version. */
export const root = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../' : '../../../', import.meta.url));

/** The entry file of a role in the compiled code of the version in `folder`; default: this one. */
export const rolePath = (role: RoleName, folder = root): string => `${folder}dist/${entries[role]}.js`;

/** Runs `operator migrate` of the version in `folder`; default: this one. */
export async function runMigrate(env: Record<string, string>, folder = root): Promise<void> {
  await promisify(execFile)(process.execPath, [`${folder}dist/apps/operator/main.js`, 'migrate'], { env: { ...process.env, ...env } });
}

/** One role as a process, on a port that stays the same after restarts. */
export interface RoleProcess {
  readonly name: RoleName;
  readonly port: number;
  pid(): number | undefined;
  /** Starts the process (again), from the compiled code in `folder`; default: the one that ran last. Resolves when it reports that it is ready. */
  start(folder?: string): Promise<void>;
  /** Sends `signal` and waits until the process has ended. Resolves with its exit code: null if it was killed or had ended before. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

/** The environment of a role that a test starts. In tests it loads the recorder of queries (test/queries/recorder.ts). */
export function roleEnv(env: Record<string, string>): NodeJS.ProcessEnv {
  const recordFile = process.env.QUERIES_FILE ?? process.env.QUERIES_OF_ROLES;
  const recorder = { QUERIES_FILE: recordFile, NODE_OPTIONS: `--import=${root}dist/test/queries/recorder.js` };
  return { ...process.env, ...(recordFile && recorder), ...env };
}

/** The maximum time until a process is ready on a busy machine, in milliseconds. */
const readyMs = 120_000;

/** Resolves when the process of a role reports that it is ready; rejects if it ends before that or takes two minutes. */
export const isReady = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error('not ready within two minutes'));
    }, readyMs).unref();
    child.once('message', () => {
      clearTimeout(late);
      resolve();
    });
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`ended before it was ready: ${signal ?? code}`)));
  });

/** A role of the compiled code (`npm run build`) with `env`. Its output goes to this process' output, with a line if it ends unexpectedly. */
async function roleProcess(name: RoleName, env: Record<string, string>, firstFolder = root): Promise<RoleProcess> {
  const portName = { api: 'PORT', gateway: 'GATEWAY_PORT', worker: 'WORKER_PORT', ops: 'OPS_PORT' }[name];
  const port = Number(env[portName] ?? (await freePort()));
  spareDatabases.spend(env.MONGODB_URL);
  let child: ChildProcess | null = null;
  let folder = firstFolder;
  const launch = (): Promise<void> => {
    const started = spawn(process.execPath, [rolePath(name, folder)], {
      env: roleEnv({ ...env, [portName]: String(port) }),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child = started;
    started.once('exit', (code, signal) => {
      if (child === started) process.stderr.write(`${name} ended by itself: ${signal ?? code}\n`);
    });
    return isReady(started);
  };
  /** Retries up to three times, as a process supervisor does, because the stores may be unavailable at the start. */
  const start = async (newFolder = folder): Promise<void> => {
    folder = newFolder;
    for (let left = 3; ; left--)
      try {
        return await launch();
      } catch (error) {
        if (left === 0) throw error;
      }
  };
  return {
    name,
    port,
    pid: () => child?.pid,
    start,
    async stop(signal) {
      const ending = child;
      child = null;
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return null;
      const gone = new Promise<number | null>((resolve) => ending.once('exit', resolve));
      ending.kill(signal);
      return gone;
    },
  };
}

/** Several roles on one database and Redis. */
export interface Stack {
  apis: RoleProcess[];
  gateways: RoleProcess[];
  workers: RoleProcess[];
  ops: RoleProcess[];
  apiUrl(at?: number): string;
  gatewayUrl(at?: number): string;
  /** Stops all processes; gateways do not drain. */
  close(): Promise<void>;
}

/**
 * Starts `counts` processes of each role with `env`, each on a free port unless `env` sets one, and waits until all are ready. They and the database are those
 * of the version in `folder`; default: this one.
 */
export async function startStack(
  counts: { api: number; gateway: number; worker: number; ops?: number },
  env: Record<string, string>,
  folder?: string,
): Promise<Stack> {
  const many = (name: RoleName, count: number) => Promise.all(Array.from({ length: count }, () => roleProcess(name, env, folder)));
  const [apis, gateways, workers, ops] = await Promise.all([
    many('api', counts.api),
    many('gateway', counts.gateway),
    many('worker', counts.worker),
    many('ops', counts.ops ?? 0),
  ]);
  const all = [...apis, ...gateways, ...workers, ...ops];
  await (folder === undefined ? prepareDatabase(readConfig(env)) : runMigrate(env, folder));
  await Promise.all(all.map((role) => role.start()));
  return {
    apis,
    gateways,
    workers,
    ops,
    apiUrl: (at = 0) => `http://127.0.0.1:${apis[at % apis.length]?.port}`,
    gatewayUrl: (at = 0) => `ws://127.0.0.1:${gateways[at % gateways.length]?.port}/gateway?v=1`,
    close: async () => {
      await Promise.all(all.map((role) => role.stop('SIGINT')));
    },
  };
}
