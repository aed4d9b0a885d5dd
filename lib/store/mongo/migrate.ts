import { type Failpoint, failpoint } from '../../base/failpoint.ts';
import { ConfigurationError } from '../../base/process.ts';
import { createProgress } from '../../base/progress.ts';
import type { Collections } from './database.ts';
import { neededIndexes, neededIndexTexts } from './indexes.ts';
import { acquireMigrationLock, type MigrationLock } from './migration-lock.ts';
import { type Migration, migrations } from './migrations.ts';
import { refuseNewerSchema } from './schema-check.ts';

/** What `migrate` has changed. */
export interface Migrated {
  /** How many indexes were created, or were found although the ledger did not have them. */
  indexes: number;
  /** The names of the migrations that were finished. */
  migrations: string[];
}

/** How often a line says that a long step is still under way, in milliseconds. */
const progressMs = 5_000;

/** Runs `work`, and reports every 5 s how long it has taken. */
async function reportElapsed<T>(report: (line: string) => void, what: string, work: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  const timer = setInterval(() => report(`${what}, ${Math.round((performance.now() - startMs) / 1000)} s`), progressMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Codes of errors of the database: an index with these keys or this name is different, or documents have the same values of a unique index. */
const indexConflictCodes: readonly unknown[] = [85, 86, 11_000];

/** The error of creating the indexes of a collection, with its name. `ConfigurationError` if an operator must change the database first. */
function toIndexError(name: string, error: Error & { code?: unknown }): Error {
  const message = `indexes of ${name}: ${error.message}`;
  return indexConflictCodes.includes(error.code)
    ? new ConfigurationError(`${message}\nDrop the index that differs, or the documents with equal values, and run the command again.`)
    : Object.assign(error, { message });
}

/** Creates the indexes that the database lacks, and notes them in the ledger. Returns how many the ledger did not have. */
async function createIndexes(db: Collections, lock: MigrationLock, report: (line: string) => void): Promise<number> {
  const noted = new Set((await db.migrations.findOne({ _id: 'schema' }))?.indexes);
  const missing = neededIndexTexts.filter((text) => !noted.has(text));
  if (missing.length > 0) report(`indexes: ${missing.length} to create or check`);
  // Also those that the ledger has: an operator may have dropped one, or restored a dump without indexes.
  for (const [name, indexes] of neededIndexes) {
    if (indexes.length === 0) continue;
    await reportElapsed(report, `indexes of ${name}`, () => db[name].createIndexes([...indexes])).catch((error: Error) => {
      throw toIndexError(name, error);
    });
    lock.ensureHeld();
  }
  await db.migrations.updateOne({ _id: 'schema' }, { $addToSet: { indexes: { $each: [...neededIndexTexts] } } });
  return missing.length;
}

/** Runs a migration, from where an earlier run of it stopped. Returns false if it was done before. */
async function runMigration(
  db: Collections,
  { name, requires, run }: Migration,
  lock: MigrationLock,
  report: (line: string) => void,
  killAt: (name: Failpoint) => void,
): Promise<boolean> {
  const stored = await db.migrations.findOne({ _id: name });
  if (stored?.doneAt) return false;
  if (!stored) await db.migrations.insertOne({ _id: name, ...(requires !== undefined && { requires }) });
  const { position: after = '' } = stored ?? {};
  if (after !== '') report(`${name}: continued after ${after}`);
  let total = 0;
  const progress = createProgress(report, progressMs);
  for await (const { position, count } of run(db, after)) {
    killAt('after-migration-batch');
    lock.ensureHeld();
    await db.migrations.updateOne({ _id: name }, { $set: { position } });
    killAt('after-migration-position');
    total += count;
    progress(() => `${name}: ${total} documents`);
  }
  lock.ensureHeld();
  await db.migrations.updateOne({ _id: name }, { $set: { doneAt: new Date() }, $unset: { position: 1 } });
  report(`${name}: done, ${total} documents`);
  return true;
}

/**
 * Creates the indexes that the database lacks, then runs the migrations that it has not had yet, in order. A second process waits until the first one has
 * ended. An interrupted run is continued by the next one. `report` gets lines of progress. Rejects with `ConfigurationError` if a newer version has changed the
 * database so that this version may not run, or if an index cannot be created beside what is there. `db` needs a connection whose operations may take long
 * (`isPatient`).
 */
export async function migrate(
  db: Collections,
  config: { readonly FAILPOINTS: string },
  report: (line: string) => void,
  list: readonly Migration[] = migrations,
): Promise<Migrated> {
  const lock = await acquireMigrationLock(db.migrations, report);
  try {
    refuseNewerSchema(await db.migrations.find({}).toArray(), list);
    const indexes = await createIndexes(db, lock, report);
    const finished: string[] = [];
    for (const migration of list)
      if (await runMigration(db, migration, lock, report, (name) => failpoint(config, name))) finished.push(migration.name);
    return { indexes, migrations: finished };
  } finally {
    await lock.release();
  }
}
