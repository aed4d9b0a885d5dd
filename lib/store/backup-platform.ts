import { randomBytes } from 'node:crypto';
import type { Config } from '../../config/index.ts';
import type { Logger } from '../base/log.ts';
import { openBlobs } from './files/blobs.ts';
import type { Blobs } from './files/store.ts';
import { openCheckedDatabase } from './mongo/app-key.ts';
import { type Database, openDatabase } from './mongo/database.ts';
import { requireSchema } from './mongo/schema-check.ts';
import { createEpochs, getEpoch } from './redis/log/epochs.ts';
import { createKeys } from './redis/log/keys.ts';
import { createProcessAddresses, keepRegistered } from './redis/process-addresses.ts';
import { openRedis } from './redis/redis.ts';

/** The stores of a backup. */
export interface BackupPlatform {
  readonly config: Config;
  readonly db: Database;
  readonly blobs: Blobs;
  close(): Promise<void>;
}

/** The stores of a restore. */
export interface RestorePlatform extends BackupPlatform {
  /** The names of the other processes, also restores, that use these stores. Rejects while Redis is unavailable. */
  listOtherProcesses(): Promise<string[]>;
  /** The highest epoch of the event log in Redis. Rejects while Redis is unavailable. */
  readEpoch(): Promise<number>;
}

function createPlatform(config: Config, db: Database): BackupPlatform {
  const blobs = openBlobs(config);
  return {
    config,
    db,
    blobs,
    close: async () => {
      blobs.close();
      await db.close();
    },
  };
}

/** Opens the stores that a backup reads. Rejects with `ConfigurationError` unless a role could start on the database. */
export async function openBackupPlatform(config: Config, log: Logger): Promise<BackupPlatform> {
  const platform = createPlatform(config, await openCheckedDatabase(config, log, { isPatient: true }));
  await requireSchema(platform);
  return platform;
}

/** Opens the stores that a restore writes, and registers this process, so that no other restore begins meanwhile. */
export async function openRestorePlatform(config: Config, log: Logger): Promise<RestorePlatform> {
  const redis = await openRedis(config, log, 'restore');
  const db = await openDatabase(config, log, { isPatient: true }).catch((error: unknown) => {
    redis.disconnect();
    throw error;
  });
  const keys = createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS);
  const platform = createPlatform(config, db);
  const processes = createProcessAddresses(redis, keys);
  const self = { name: `restore:${randomBytes(6).toString('hex')}`, url: '-' };
  const unregister = await keepRegistered(processes, self);
  return {
    ...platform,
    listOtherProcesses: async () => (await processes.listProcesses()).map(({ name }) => name).filter((name) => name !== self.name),
    async readEpoch() {
      const epochs = createEpochs(redis, keys, () => undefined);
      const states = await Promise.all(Array.from({ length: keys.partitions }, (_, partition) => epochs.syncEpoch(partition)));
      return Math.max(...states.map(({ epoch, lastNumber }) => Math.max(epoch, getEpoch(lastNumber))));
    },
    close: async () => {
      await unregister();
      redis.disconnect();
      await platform.close();
    },
  };
}
