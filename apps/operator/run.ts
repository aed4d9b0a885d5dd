import type { Config } from '../../config/index.ts';
import { Refusal } from '../../lib/base/errors.ts';
import { createLog } from '../../lib/base/log.ts';
import { ConfigurationError } from '../../lib/base/process.ts';
import { BackupError } from '../../lib/domain/backup/contents.ts';
import { type BackupPlatform, openBackupPlatform, openRestorePlatform, type RestorePlatform } from '../../lib/store/backup-platform.ts';
import { BlobsUnavailable } from '../../lib/store/files/temp.ts';
import { openCheckedDatabase } from '../../lib/store/mongo/app-key.ts';
import { type Database, isDatabaseError, isUnavailable } from '../../lib/store/mongo/database.ts';
import { requireSchema } from '../../lib/store/mongo/schema-check.ts';
import { openOperatorPlatform, type WakePlatform } from '../../lib/store/platform.ts';
import { exitCodes, failure, type Result } from './result.ts';

/** How long opening the stores, the command and closing may take together, in milliseconds. With the start of the process that is less than 5 s. */
const timeoutMs = 4_000;

const database = 'The database (MONGODB_URL)';
const redis = 'Redis (REDIS_URL)';
const files = 'The file store (FILES_DIR or S3_ENDPOINT)';
const unavailable = (what: string, why: string): Result =>
  failure(exitCodes.unavailable, 'unavailable', `${what} cannot be reached: ${why.replace(/\.$/, '')}. Try again when it is available.`);

/** The result of a command that failed with `error`. */
export function toResult(error: Error): Result {
  if (error instanceof ConfigurationError) return failure(exitCodes.configuration, 'configuration', error.message);
  if (error instanceof Refusal) return failure(exitCodes.refused, error.code, error.message);
  if (error instanceof BackupError) return failure(exitCodes.refused, 'backup', error.message);
  if (error instanceof BlobsUnavailable) return unavailable(files, (error.cause as Error).message);
  if (isUnavailable(error)) return unavailable(database, error.message);
  return failure(exitCodes.internal, 'internal', `Internal error: ${error.name}: ${error.message}`);
}

// The log is silent, because its lines would mix with the output of the command.
const log = createLog('operator', 'silent');

async function openAndRun<T extends { close(): Promise<void> }>(
  open: () => Promise<T>,
  work: (opened: T) => Promise<Result>,
): Promise<Result> {
  let opened: T;
  try {
    opened = await open();
  } catch (error) {
    if (error instanceof ConfigurationError) return toResult(error);
    return unavailable(isDatabaseError(error) ? database : redis, (error as Error).message);
  }
  try {
    return await work(opened).catch(toResult);
  } finally {
    await opened.close();
  }
}

/**
 * Opens the stores, runs `work` and closes them. Fails as unavailable after 4 s; with `isLong` only opening the stores has that limit. Also fails if Redis,
 * which announces changes, does not answer afterwards. Never rejects: every error becomes a `Result`.
 */
export async function runWithPlatform(
  config: Config,
  work: (platform: WakePlatform) => Promise<Result>,
  { isLong = false } = {},
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Result>((done) => {
    timer = setTimeout(() => done(unavailable(`${database} or ${redis}`, `no response within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  const result = openAndRun(
    async () => {
      const platform = await openOperatorPlatform(config, log);
      await requireSchema(platform);
      return platform;
    },
    async (platform) => {
      if (isLong) clearTimeout(timer);
      const changed = await work(platform);
      if (!changed.json.ok) return changed;
      return platform.pingRedis().then(
        () => changed,
        (error: Error) => unavailable(`The change is stored, but ${redis}, which announces it to all nodes,`, error.message),
      );
    },
  );
  return Promise.race([result, timeout]);
}

/** Opens the database alone, whose operations may then take any time, runs `work` and closes it. Never rejects: every error becomes a `Result`. */
export const runWithDatabase = (config: Config, work: (db: Database) => Promise<Result>): Promise<Result> =>
  openAndRun(() => openCheckedDatabase(config, log, { isPatient: true }), work);

/** Opens the stores that a backup reads, runs `work` and closes them. Never rejects: every error becomes a `Result`. */
export const runWithBackupPlatform = (config: Config, work: (platform: BackupPlatform) => Promise<Result>): Promise<Result> =>
  openAndRun(() => openBackupPlatform(config, log), work);

/** Opens the stores that a restore writes, runs `work` and closes them. Never rejects: every error becomes a `Result`. */
export const runWithRestorePlatform = (config: Config, work: (platform: RestorePlatform) => Promise<Result>): Promise<Result> =>
  openAndRun(() => openRestorePlatform(config, log), work);
