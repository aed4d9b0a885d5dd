import type { Config } from '../../config/index.ts';
import type { Collections } from '../../lib/store/mongo/database.ts';
import { migrate } from '../../lib/store/mongo/migrate.ts';
import { exitCodes, type Result } from './result.ts';

/** Executes `migrate`, and reports its progress line by line. */
export async function executeMigrate(db: Collections, config: Config, report: (line: string) => void): Promise<Result> {
  const { indexes, migrations } = await migrate(db, config, report);
  const changed = indexes > 0 || migrations.length > 0;
  return {
    exitCode: exitCodes.done,
    json: { ok: true, command: 'migrate', changed, indexes, migrations },
    text: changed
      ? `The database is ready for this version. New indexes: ${indexes}. Migrations: ${migrations.join(', ') || 'none'}.`
      : 'The database is ready for this version; nothing had to change.',
  };
}
