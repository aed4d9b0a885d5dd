import type { Config } from '../../config/index.ts';
import { Refusal } from '../../lib/base/errors.ts';
import { createLog } from '../../lib/base/log.ts';
import { ConfigurationError } from '../../lib/base/process.ts';
import { isUnavailable } from '../../lib/store/mongo/database.ts';
import { openOperatorPlatform, type Platform } from '../../lib/store/platform.ts';
import { type Ending, exits, failed } from './ending.ts';

/** How long opening the stores, the command and closing may take together, in milliseconds. With the start of the process that is less than 5 s. */
const patienceMs = 4_000;

const database = 'The database (MONGODB_URL)';
const redis = 'Redis (REDIS_URL)';
const away = (what: string, why: string): Ending =>
  failed(exits.away, 'unavailable', `${what} cannot be reached: ${why.replace(/\.$/, '')}. Try again when it is available.`);

function endingOf(fault: Error): Ending {
  if (fault instanceof Refusal) return failed(exits.refused, fault.code, fault.message);
  if (isUnavailable(fault)) return away(database, fault.message);
  return failed(exits.fault, 'internal', `${fault.name}: ${fault.message}`);
}

async function obeyNow(config: Config, work: (platform: Platform) => Promise<Ending>): Promise<Ending> {
  let platform: Platform;
  try {
    // The log is silent, because its lines would mix with the output of the command.
    platform = await openOperatorPlatform(config, createLog('operator', 'silent'));
  } catch (fault) {
    const { name, message } = fault as Error;
    if (fault instanceof ConfigurationError) return failed(exits.configuration, 'configuration', message);
    return away(name.startsWith('Mongo') ? database : redis, message);
  }
  try {
    const ending = await work(platform).catch(endingOf);
    if (!ending.json.ok) return ending;
    return await platform.pingRedis().then(
      () => ending,
      (fault: Error) => away(`The change is stored, but ${redis}, which announces it to all nodes,`, fault.message),
    );
  } finally {
    await platform.close();
  }
}

/**
 * Opens the stores, runs `work` and closes them. Fails as unavailable after 4 s; with `isLong` only opening the stores has that limit. Never rejects: every
 * error becomes an `Ending`.
 */
export async function obey(config: Config, work: (platform: Platform) => Promise<Ending>, { isLong = false } = {}): Promise<Ending> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Ending>((done) => {
    timer = setTimeout(() => done(away(`${database} or ${redis}`, `no response within ${patienceMs / 1000} s`)), patienceMs);
  });
  const ending = obeyNow(config, (platform) => {
    if (isLong) clearTimeout(timer);
    return work(platform);
  });
  return Promise.race([ending, late]);
}
