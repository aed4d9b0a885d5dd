import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../apps/local/probe.ts';
import type { Stores } from '../../apps/local/stores.ts';
import { type Config, readConfig } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { type ApiPlatform, openApiPlatform } from '../../lib/store/platform.ts';
import { type Stack, startStack } from '../harness/stack.ts';

/** What every row needs to run. */
export interface Bench {
  stores: Stores;
  /** Rounds of each measurement. */
  rounds: number;
  /** Length of one round of load, in seconds. */
  seconds: number;
  /** The size of a large installation, as a share of its full size. Less than 1 for trials. */
  scale: number;
  log(line: string): void;
}

/** The product running on its own database, with a platform to inspect it and prepare data. */
export interface Setting {
  env: Record<string, string>;
  config: Config;
  platform: ApiPlatform;
  stack: Stack;
  /** Stops the processes, and deletes the database and the files. */
  close(): Promise<void>;
}

/** Starts `counts` processes of each role on a fresh database of `bench`. */
export async function openSetting(
  bench: Bench,
  counts: { api: number; gateway: number; worker: number },
  overrides: Record<string, string> = {},
): Promise<Setting> {
  const name = `bench${randomBytes(4).toString('hex')}`;
  const mongo = new URL(bench.stores.mongodbUrl);
  mongo.pathname = `/${name}`;
  const env = {
    MONGODB_URL: mongo.href,
    REDIS_URL: bench.stores.redisUrl,
    REDIS_PREFIX: name,
    FILES_DIR: join(tmpdir(), `parlance-bench-files-${name}`),
    APP_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT: '1000000/1000000',
    LOG_LEVEL: 'error',
    ...overrides,
  };
  const stack = await startStack(counts, env);
  const config = readConfig(env);
  const platform = await openApiPlatform(config, createLog('bench', 'silent'));
  return {
    env,
    config,
    platform,
    stack,
    close: async () => {
      await stack.close();
      await platform.db.servers.db.dropDatabase();
      await platform.close();
      await rm(env.FILES_DIR, { recursive: true, force: true });
    },
  };
}

/** A helper process of the bench, such as a bare stack or a swarm of sockets. Messages use IPC. */
export interface Helper {
  child: ChildProcess;
  /** Sends `message` and waits for the next message from the process. */
  ask<T>(message: unknown): Promise<T>;
  /** Waits for the next message. */
  next<T>(): Promise<T>;
  close(): Promise<void>;
}

/** Starts the file `name` of `test/bench/bare`, or of another folder, with `env` and waits until it is ready. */
export async function startHelper(
  name: string,
  env: Record<string, string>,
  folder = new URL('./bare/', import.meta.url),
): Promise<Helper & { port: number }> {
  const port = await freePort();
  const file = fileURLToPath(new URL(`${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, folder));
  const child = fork(file, { env: { ...process.env, ...env, PORT: String(port) }, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const next = <T>(): Promise<T> =>
    new Promise((resolve, reject) => {
      const failed = (code: number | null): void => reject(new Error(`${name} ended with ${code}`));
      child.once('exit', failed);
      child.once('message', (message) => {
        child.off('exit', failed);
        resolve(message as T);
      });
    });
  await next();
  return {
    child,
    port,
    next,
    ask: (message) => {
      const answer = next();
      child.send(message as object);
      return answer as Promise<never>;
    },
    close: async () => {
      if (child.exitCode !== null) return;
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await exited;
    },
  };
}
