import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readConfig } from '../../config/index.ts';
import { appKey, claimFolder, dataFolder, writeRunningEnv } from './data-folder.ts';
import { startDemoBot } from './demo-bot.ts';
import type { Started } from './lifecycle.ts';
import { loginLink } from './login-link.ts';
import { migrateDatabase } from './migrate.ts';
import { checkPorts } from './ports.ts';
import { type Role, startRoles } from './roles.ts';
import { seed } from './seed.ts';
import { callsOf } from './seed-people.ts';
import { startMessage } from './start-message.ts';
import { startStores, withDatabase } from './stores.ts';
import { print, startProgress, UserFacingError } from './terminal.ts';

/** Reads and checks the settings before anything starts. Store addresses that are not set yet are placeholders here. */
function checkedConfig(key: string): ReturnType<typeof readConfig> {
  try {
    return readConfig({ MONGODB_URL: 'mongodb://localhost/x', REDIS_URL: 'redis://localhost', ...process.env, APP_KEY: key });
  } catch (error) {
    throw new UserFacingError((error as Error).message);
  }
}

/** Starts the stores, migrates the database, starts every role and the demo, and prints how to use them. Calls `onStarted` for each one as soon as it runs. Resolves with the roles. */
export async function bringUp(onStarted: (one: Started) => void): Promise<Role[]> {
  const beganMs = Date.now();
  const folder = dataFolder();
  const key = appKey(folder);
  const config = checkedConfig(key);
  onStarted({ name: 'data folder', stop: await claimFolder(folder) });
  mkdirSync(join(folder, 'files'), { recursive: true, mode: 0o700 });
  await checkPorts(
    [
      { variable: 'PORT', port: config.PORT },
      { variable: 'GATEWAY_PORT', port: config.GATEWAY_PORT },
      { variable: 'OPS_PORT', port: config.OPS_PORT },
    ],
    config.HOST,
  );

  print('Parlance is starting.');
  const steps = startProgress('starting the stores and services');
  const stores = await startStores({ dataDir: folder, durable: true, report: steps.report });
  onStarted({ name: 'stores', stop: () => stores.close() });
  const env = {
    FILES_DIR: join(folder, 'files'),
    ...process.env,
    // All roles have these settings, and each needs a port of its own.
    METRICS_PORT: '0',
    MONGODB_URL: withDatabase(stores.mongodbUrl),
    REDIS_URL: stores.redisUrl,
    APP_KEY: key,
  };
  const { MONGODB_URL, REDIS_URL } = env;
  const { REDIS_PREFIX, LOG_PARTITIONS } = config;
  const instance = { REDIS_PREFIX, LOG_PARTITIONS: String(LOG_PARTITIONS), PORT: String(config.PORT), BASE_URL: config.baseUrl };
  const { S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY } = config;
  const files = { FILES_DIR: resolve(env.FILES_DIR), ...(S3_ENDPOINT && { S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY }) };
  onStarted({ name: 'running.json', stop: writeRunningEnv(folder, { MONGODB_URL, REDIS_URL, ...instance, ...files }) });
  await migrateDatabase(env, steps.report);
  const roles = await startRoles(env, folder, onStarted);

  const local = `http://localhost:${config.PORT}`;
  const demo = await seed(local, folder);
  const bot = startDemoBot(local, demo.application.token);
  onStarted({ name: 'demo bot', stop: () => bot.stop() });
  await Promise.race([bot.ready, new Promise((done) => setTimeout(done, 5000).unref())]);
  steps.stop();

  const opsUrl = `http://localhost:${config.OPS_PORT}`;
  const isDefaultAddress = config.baseUrl === 'http://localhost:8080';
  const link = await loginLink(callsOf(local, demo.person), config.baseUrl, demo.server);
  print(startMessage({ baseUrl: config.baseUrl, gatewayUrl: config.gatewayUrl, opsUrl }, demo, link, isDefaultAddress));
  print(`Ready in ${((Date.now() - beganMs) / 1000).toFixed(1)} s. Data and logs: ${folder}`);
  return roles;
}
