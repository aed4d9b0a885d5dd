import type { Config } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { type Database, openDatabase } from '../../lib/store/mongo/database.ts';
import { testConfig } from '../harness/stores.ts';
import { storesOf } from './run-operator.ts';

/** A database that nothing has prepared yet. */
export interface EmptyDatabase {
  config: Config;
  db: Database;
  /** The settings of processes on it. */
  env: Record<string, string>;
}

/** Returns a function that makes an empty database, which is dropped after the test. */
export function useEmptyDatabases(): () => Promise<EmptyDatabase> {
  const opened: Database[] = [];
  afterEach(async () => {
    for (const db of opened.splice(0)) {
      await db.servers.db.dropDatabase();
      await db.close();
    }
  });
  return async () => {
    const config = testConfig();
    const db = await openDatabase(config, createLog('test', 'silent'), { isPatient: true });
    opened.push(db);
    return { config, db, env: storesOf(config) };
  };
}
