import type { Logger } from '../../base/log.ts';
import type { Collections } from './database.ts';

/**
 * A change of data that an earlier version has stored. It runs once for each database, before the process serves anything; if it is interrupted, or two
 * processes start at the same time, it runs again, which must change nothing further.
 */
interface Migration {
  /** Its name in the database. It never changes. */
  name: string;
  run(db: Collections): Promise<void>;
}

/** The migrations, in the order in which they run. */
const migrations: readonly Migration[] = [];

/** Runs the migrations that this database has not had yet. */
export async function migrate(db: Collections, log: Logger): Promise<void> {
  const done = new Set(await db.migrations.distinct('_id'));
  for (const { name, run } of migrations) {
    if (done.has(name)) continue;
    log.info({ migration: name }, 'migrating the database');
    await run(db);
    await db.migrations.updateOne({ _id: name }, { $set: { doneAt: new Date() } }, { upsert: true });
  }
}
