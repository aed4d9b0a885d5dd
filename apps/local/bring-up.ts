import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../config/index.ts';
import { appKey, claim, dataFolder, noteRunning } from './data-folder.ts';
import { startDemoBot } from './demo-bot.ts';
import { invitation } from './invitation.ts';
import type { Started } from './lifecycle.ts';
import { loginLink } from './login-link.ts';
import { checkPorts } from './ports.ts';
import { startRoles } from './roles.ts';
import { Plain, progress, say } from './say.ts';
import { seed } from './seed.ts';
import { callsOf } from './seed-people.ts';
import { startStores } from './stores.ts';
import type { Role } from './supervise.ts';

/** Reads and checks the settings before anything starts. Store addresses that are not set yet are placeholders here. */
function checkedConfig(key: string): ReturnType<typeof readConfig> {
  try {
    return readConfig({ MONGODB_URL: 'mongodb://localhost/x', REDIS_URL: 'redis://localhost', ...process.env, APP_KEY: key });
  } catch (fault) {
    throw new Plain((fault as Error).message);
  }
}

/** Adds the database name `parlance` to a MongoDB address without a path. */
const withDatabase = (url: string): string => url.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?(\?.*)?$/, '$1/parlance$2');

/** Starts the stores, every role and the demo, and prints how to use them. Calls `note` for each one as soon as it runs. Resolves with the roles. */
export async function bringUp(note: (one: Started) => void): Promise<Role[]> {
  const beganMs = Date.now();
  const folder = dataFolder();
  const key = appKey(folder);
  const config = checkedConfig(key);
  note({ name: 'data folder', stop: await claim(folder) });
  mkdirSync(join(folder, 'files'), { recursive: true, mode: 0o700 });
  await checkPorts([
    { variable: 'PORT', port: config.PORT },
    { variable: 'GATEWAY_PORT', port: config.GATEWAY_PORT },
    { variable: 'OPS_PORT', port: config.OPS_PORT },
  ]);

  say('Parlance is starting.');
  const steps = progress('starting');
  const stores = await startStores({ dataDir: folder, durable: true, report: steps.report });
  note({ name: 'stores', stop: () => stores.close() });
  const env = {
    FILES_DIR: join(folder, 'files'),
    ...process.env,
    MONGODB_URL: withDatabase(stores.mongodbUrl),
    REDIS_URL: stores.redisUrl,
    APP_KEY: key,
  };
  const { MONGODB_URL, REDIS_URL } = env;
  const { REDIS_PREFIX, LOG_PARTITIONS } = config;
  const own = { REDIS_PREFIX, LOG_PARTITIONS: String(LOG_PARTITIONS), PORT: String(config.PORT), BASE_URL: config.baseUrl };
  note({ name: 'running.json', stop: noteRunning(folder, { MONGODB_URL, REDIS_URL, ...own }) });
  const roles = await startRoles(env, folder, note);

  const local = `http://localhost:${config.PORT}`;
  const demo = await seed(local, folder);
  const bot = await startDemoBot(local, demo.application.token);
  note({ name: 'demo bot', stop: () => bot.close() });
  await Promise.race([bot.ready, new Promise((done) => setTimeout(done, 5000).unref())]);
  steps.stop();

  const opsUrl = `http://localhost:${config.OPS_PORT}`;
  const isDefaultAddress = config.baseUrl === 'http://localhost:8080';
  const link = await loginLink(callsOf(local, demo.person), config.baseUrl, demo.server);
  say(invitation({ baseUrl: config.baseUrl, gatewayUrl: config.gatewayUrl, opsUrl }, demo, link, isDefaultAddress));
  say(`Ready in ${((Date.now() - beganMs) / 1000).toFixed(1)} s. Data and logs: ${folder}`);
  return roles;
}
