import './offline.ts';
import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type Config, readConfig } from '../../config/index.ts';

/** A configuration for the stores of this test run (MONGODB_URL and REDIS_URL, set by `npm test`), with a new database and Redis prefix. */
export function testConfig(overrides: Record<string, string> = {}): Config {
  const name = `t${randomBytes(6).toString('hex')}`;
  const mongo = new URL(process.env.MONGODB_URL ?? 'mongodb://127.0.0.1:27099/?directConnection=true&retryWrites=false');
  mongo.pathname = `/${name}`;
  return readConfig({
    MONGODB_URL: mongo.href,
    REDIS_URL: process.env.REDIS_URL ?? 'redis://127.0.0.1:6399',
    REDIS_PREFIX: name,
    FILES_DIR: join(tmpdir(), `parlance-test-files-${name}`),
    // The key depends on the database, so that all processes on one database, which accepts only one key, have the same.
    APP_KEY: createHash('sha256')
      .update(new URL(overrides.MONGODB_URL ?? mongo).pathname)
      .digest('base64'),
    PORT: '0',
    GATEWAY_PORT: '0',
    OPS_PORT: '0',
    RATE_LIMIT: 'off',
    STORE_TIMEOUT_FACTOR: process.env.STORE_TIMEOUT_FACTOR ?? '10',
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'error',
    ...overrides,
  });
}

/** Connects to the Redis of `config`. Close it with `close`. */
export async function connectRedis({ REDIS_URL }: Pick<Config, 'REDIS_URL'>): Promise<Redis & { close(): void }> {
  const redis = new Redis(REDIS_URL);
  return Object.assign(redis, { close: () => redis.disconnect() });
}
