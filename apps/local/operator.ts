import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigurationError } from '../../lib/base/process.ts';
import { appKey, claimFolder, dataFolder, type RunningEnv, readRunningEnv } from './data-folder.ts';
import { startStores, withDatabase } from './stores.ts';

/*
 * `npm run operator -- <command>`: the operators' command line. It uses the stores that the environment sets, else those of the running `npm start`. `backup` and
 * `restore` start the stores of the data folder themselves if `npm start` is not running.
 */
const args = process.argv.slice(2);
const folder = dataFolder();
// If both stores are set in the environment, no setting of the running instance applies, such as its REDIS_PREFIX, because its stores are different ones.
const hasStores = ['MONGODB_URL', 'REDIS_URL'].every((name) => process.env[name]);
const needsNoStores = args.length === 0 || args.some((one) => ['help', '--help', '-h', 'verify-backup'].includes(one));
const startsStores = ['backup', 'restore'].includes(args.find((one) => !one.startsWith('-')) ?? '');

/** The addresses of the stores, and what ends them if they were started for this command. */
interface Stores {
  env: RunningEnv;
  close(): Promise<void>;
}

/** Starts the stores of the data folder, which no other process uses meanwhile. */
async function startFolder(): Promise<Stores> {
  if (!process.env.APP_KEY && !existsSync(join(folder, 'app.key')))
    throw new ConfigurationError(`${folder} has no app.key. Copy it from the data folder that was backed up, or set APP_KEY.`);
  const release = await claimFolder(folder);
  const stores = await startStores({ dataDir: folder, durable: true, report: (line) => void process.stderr.write(`${line}\n`) });
  return {
    env: { FILES_DIR: join(folder, 'files'), MONGODB_URL: withDatabase(stores.mongodbUrl), REDIS_URL: stores.redisUrl },
    close: async () => {
      await stores.close();
      release();
    },
  };
}

async function findStores(): Promise<Stores | null> {
  const none = { env: {}, close: () => Promise.resolve() };
  if (hasStores) return none;
  const running = await readRunningEnv(folder);
  if (running) return { ...none, env: running };
  if (needsNoStores) return none;
  return startsStores ? startFolder() : null;
}

/** Runs the command as a process; resolves with its exit code. */
function run(env: RunningEnv): Promise<number> {
  const key = existsSync(join(folder, 'app.key')) ? { APP_KEY: appKey(folder) } : {};
  const main = fileURLToPath(new URL('../operator/main.js', import.meta.url));
  const child = spawn(process.execPath, ['--enable-source-maps', main, ...args], {
    env: { ...env, ...key, ...process.env },
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((done) => child.on('exit', (code) => done(code ?? 130)));
}

function refuse(message: string, code = 'unavailable', exitCode = 69): number {
  if (args.includes('--json')) process.stdout.write(`${JSON.stringify({ ok: false, error: { code, message } })}\n`);
  else process.stderr.write(`${message}\n`);
  return exitCode;
}

async function runOnStores(): Promise<number> {
  const stores = await findStores();
  if (!stores)
    return refuse(`Parlance is not running from ${folder}. Start it with \`npm start\`, or set MONGODB_URL, REDIS_URL and APP_KEY.`);
  try {
    return await run(stores.env);
  } finally {
    await stores.close();
  }
}

process.exit(
  await runOnStores().catch((error: Error) =>
    error instanceof ConfigurationError ? refuse(error.message, 'configuration', 78) : refuse(error.message),
  ),
);
