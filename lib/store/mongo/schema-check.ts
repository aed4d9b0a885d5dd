import { ConfigurationError } from '../../base/process.ts';
import type { Collections } from './database.ts';
import { neededIndexTexts } from './indexes.ts';
import { type Migration, migrations } from './migrations.ts';
import type { MigrationDoc } from './models/meta.ts';

/** What to do about a database that lacks something. */
const howToMigrate =
  'Run `npm run operator -- migrate` (with Docker Compose: `docker compose run --rm migrate`), then start this process again.';

/** Throws a `ConfigurationError` if a newer version has changed the database so that this version may not run (docs/store.md#migrations). */
export function refuseNewerSchema(ledger: readonly MigrationDoc[], known: readonly Migration[]): void {
  const names = new Set(known.map(({ name }) => name));
  const refusing = ledger.find(({ requires }) => requires !== undefined && !names.has(requires));
  if (refusing)
    throw new ConfigurationError(
      `A newer version of Parlance has changed the database (${refusing._id}), and this version cannot run with that. Install the newer version, or restore a backup from before the upgrade.`,
    );
}

/**
 * Checks that the database has every migration and index that this version needs, and none that it cannot run with. Changes nothing. Otherwise closes
 * `platform` and rejects with a `ConfigurationError` that says what to run (docs/operations/upgrade.md#refused-starts).
 */
export async function requireSchema(platform: { readonly db: Collections; close(): Promise<void> }): Promise<void> {
  try {
    checkLedger(await platform.db.migrations.find({}).toArray());
  } catch (error) {
    await platform.close();
    throw error;
  }
}

function checkLedger(ledger: readonly MigrationDoc[]): void {
  refuseNewerSchema(ledger, migrations);
  const done = new Set(ledger.flatMap(({ _id, doneAt }) => (doneAt ? [_id] : [])));
  const indexes = new Set(ledger.find(({ _id }) => _id === 'schema')?.indexes);
  const [missing] = [
    ...migrations.flatMap(({ name }) => (done.has(name) ? [] : [`the migration ${name}`])),
    ...neededIndexTexts.flatMap((text) => (indexes.has(text) ? [] : [`the index ${text}`])),
  ];
  if (missing === undefined) return;
  const problem = indexes.size === 0 ? 'The database is not prepared for this version.' : `The database lacks ${missing}.`;
  throw new ConfigurationError(`${problem} ${howToMigrate}`);
}
