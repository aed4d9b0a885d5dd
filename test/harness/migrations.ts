import type { Config } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { openDatabase } from '../../lib/store/mongo/database.ts';
import { migrate } from '../../lib/store/mongo/migrate.ts';
import type { Platform } from '../../lib/store/platform.ts';

/** Prepares the database of `config` as `operator migrate` does. Without this no role starts on it as a process. */
export async function prepareDatabase(config: Config): Promise<void> {
  const db = await openDatabase(config, createLog('test', 'silent'), { isPatient: true });
  await migrate(db, config, () => undefined);
  await db.close();
}

/** Runs all migrations, also those that this database has had. */
export async function repeatMigrations({ db, config }: Pick<Platform, 'db' | 'config'>): Promise<void> {
  await db.migrations.deleteMany({});
  await migrate(db, config, () => undefined);
}
