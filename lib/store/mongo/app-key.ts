import type { Config } from '../../../config/index.ts';
import type { Logger } from '../../base/log.ts';
import { ConfigurationError } from '../../base/process.ts';
import { type AppKeys, deriveKeyId, listKeys, unseal } from '../seal.ts';
import { type Database, openDatabase } from './database.ts';
import { insertNew } from './insert.ts';
import { refuseHalfRestored } from './restore-mark.ts';

/** The error of a start or a restore without a key that the database or the backup was written under. */
export const createKeyError = (what: 'database' | 'backup'): ConfigurationError =>
  new ConfigurationError(
    `APP_KEY is not the key of this ${what}. Set APP_KEY to the key that its secrets are encrypted under, or list that key in APP_KEYS_OLD.`,
  );

/** Any encrypted secret of the database; null when it holds none. */
async function findAnySecret(db: Database): Promise<string | null> {
  const application = await db.applications.findOne({}, { projection: { signingSecret: 1 } });
  return application?.signingSecret ?? (await db.webhooks.findOne({}, { projection: { token: 1 } }))?.token ?? null;
}

/**
 * Checks that this process has every key that the database was written under: the database stores the ids of those keys. Adds the id of the current key, so
 * that a later start without that key is refused too. A new database, or one from an earlier version, has no ids stored: there, one of its secrets, if it has
 * any, is decrypted instead. Rejects with `ConfigurationError` when a key is missing.
 */
async function checkAppKey(db: Database, config: AppKeys): Promise<void> {
  const knownIds = listKeys(config).map(deriveKeyId);
  const currentId = deriveKeyId(config.APP_KEY);
  for (;;) {
    const stored = await db.meta.findOne({ _id: 'app-key' });
    if (stored) {
      if (!stored.keys.every((id) => knownIds.includes(id))) throw createKeyError('database');
      if (stored.keys.includes(currentId)) return;
      // Write only if the ids are still the same: another process may have added a key that this one lacks.
      const { modifiedCount } = await db.meta.updateOne(
        { _id: 'app-key', keys: stored.keys },
        {
          $set: { keys: [...stored.keys, currentId] },
        },
      );
      if (modifiedCount === 1) return;
    } else {
      const secret = await findAnySecret(db);
      if (secret !== null && unseal(config, secret) === null) throw createKeyError('database');
      if (await insertNew(db.meta, { _id: 'app-key', keys: [currentId] })) return;
    }
  }
}

/**
 * Opens the database as `openDatabase` does, and checks that `config` has every key that it was written under. Rejects with `ConfigurationError` when one is
 * missing, or when a restore into the database is not complete.
 */
export async function openCheckedDatabase(config: Config, log: Logger, options?: Parameters<typeof openDatabase>[2]): Promise<Database> {
  const db = await openDatabase(config, log, options);
  try {
    await refuseHalfRestored(db);
    await checkAppKey(db, config);
  } catch (error) {
    await db.close();
    throw error;
  }
  return db;
}

/** The ids of the keys that the database was written under. */
export const readKeyIds = async (db: Pick<Database, 'meta'>): Promise<string[]> => (await db.meta.findOne({ _id: 'app-key' }))?.keys ?? [];

/** Stores the ids of the only keys that the secrets in the database are encrypted under. */
export async function storeKeyIds(db: Pick<Database, 'meta'>, keys: string[]): Promise<void> {
  await db.meta.updateOne({ _id: 'app-key' }, { $set: { keys } }, { upsert: true });
}
