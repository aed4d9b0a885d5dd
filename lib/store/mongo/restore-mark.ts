import { ConfigurationError } from '../../base/process.ts';
import { type Collections, withSharedFields } from './database.ts';
import { insertNew } from './insert.ts';

type Db = Pick<Collections, 'meta'>;

/** The document `restore` of `meta` exists while a restore is not complete. */
const markOf = ({ meta }: Db) => withSharedFields<{ backupId: string }>(meta);

/** The id of the backup whose restore into this database began and did not end; null when there is none. */
export const readRestoreMark = async (db: Db): Promise<string | null> => (await markOf(db).findOne({ _id: 'restore' }))?.backupId ?? null;

/** Stores that a restore of this backup has begun. */
export async function writeRestoreMark(db: Db, backupId: string): Promise<void> {
  await insertNew(markOf(db), { _id: 'restore', backupId });
}

/** Stores that the restore is complete. */
export async function clearRestoreMark(db: Db): Promise<void> {
  await markOf(db).deleteOne({ _id: 'restore' });
}

/** Rejects with `ConfigurationError` while a restore into this database is not complete. */
export async function refuseHalfRestored(db: Db): Promise<void> {
  if ((await readRestoreMark(db)) === null) return;
  throw new ConfigurationError(
    'A restore into this database is under way or was interrupted. Run `operator restore --resume` with the same backup, or empty the database.',
  );
}
