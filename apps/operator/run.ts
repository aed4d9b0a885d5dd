import type { Config } from '../../config/index.ts';
import { Refusal } from '../../lib/base/errors.ts';
import { createLog } from '../../lib/base/log.ts';
import { ConfigurationError } from '../../lib/base/process.ts';
import { isDatabaseError, isUnavailable } from '../../lib/store/mongo/database.ts';
import { openOperatorPlatform, type Platform } from '../../lib/store/platform.ts';
import { exitCodes, failure, type Result } from './result.ts';

/** How long opening the stores, the command and closing may take together, in milliseconds. With the start of the process that is less than 5 s. */
const timeoutMs = 4_000;

const database = 'The database (MONGODB_URL)';
const redis = 'Redis (REDIS_URL)';
const unavailable = (what: string, why: string): Result =>
  failure(exitCodes.unavailable, 'unavailable', `${what} cannot be reached: ${why.replace(/\.$/, '')}. Try again when it is available.`);

function toResult(error: Error): Result {
  if (error instanceof Refusal) return failure(exitCodes.refused, error.code, error.message);
  if (isUnavailable(error)) return unavailable(database, error.message);
  return failure(exitCodes.internal, 'internal', `Internal error: ${error.name}: ${error.message}`);
}

async function openAndRun(config: Config, work: (platform: Platform) => Promise<Result>): Promise<Result> {
  let platform: Platform;
  try {
    // The log is silent, because its lines would mix with the output of the command.
    platform = await openOperatorPlatform(config, createLog('operator', 'silent'));
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof ConfigurationError) return failure(exitCodes.configuration, 'configuration', message);
    return unavailable(isDatabaseError(error) ? database : redis, message);
  }
  try {
    const result = await work(platform).catch(toResult);
    if (!result.json.ok) return result;
    return await platform.pingRedis().then(
      () => result,
      (error: Error) => unavailable(`The change is stored, but ${redis}, which announces it to all nodes,`, error.message),
    );
  } finally {
    await platform.close();
  }
}

/**
 * Opens the stores, runs `work` and closes them. Fails as unavailable after 4 s; with `isLong` only opening the stores has that limit. Never rejects: every
 * error becomes a `Result`.
 */
export async function runWithPlatform(
  config: Config,
  work: (platform: Platform) => Promise<Result>,
  { isLong = false } = {},
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Result>((done) => {
    timer = setTimeout(() => done(unavailable(`${database} or ${redis}`, `no response within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  const result = openAndRun(config, (platform) => {
    if (isLong) clearTimeout(timer);
    return work(platform);
  });
  return Promise.race([result, timeout]);
}
