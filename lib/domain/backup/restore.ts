import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { failpoint } from '../../base/failpoint.ts';
import { createProgress, type Report } from '../../base/progress.ts';
import type { RestorePlatform } from '../../store/backup-platform.ts';
import { createKeyError, storeKeyIds } from '../../store/mongo/app-key.ts';
import { exists, withSharedFields } from '../../store/mongo/database.ts';
import { migrate } from '../../store/mongo/migrate.ts';
import { clearRestoreMark, readRestoreMark, writeRestoreMark } from '../../store/mongo/restore-mark.ts';
import { storeRestoredLog } from '../../store/redis/log/restored-log.ts';
import { deriveKeyId, listKeys } from '../../store/seal.ts';
import { BackupError, type BackupManifest, type BackupSummary, collectionsOfData } from './contents.ts';
import { readBackup, verifyBackup } from './reader.ts';
import { storeDocuments } from './restored-documents.ts';

/** Where a backup is read from. */
export interface BackupSource {
  /** Opens it at its beginning. */
  open(): Readable;
  /** Whether it can be opened again, as a file can and stdin cannot. */
  readonly isRepeatable: boolean;
}

/** What was restored. `refused` names the documents that could not be stored. */
export type Restored = BackupManifest & BackupSummary & { refused: string[] };

/** The stores that have data, as an operator knows them. */
async function findData({ db, blobs }: RestorePlatform): Promise<string[]> {
  const found: string[] = [];
  // Sorted, so that an index finds the first document of a large collection.
  const first = { sort: { _id: 1 }, projection: { _id: 1 } } as const;
  for (const name of collectionsOfData)
    if (await withSharedFields(db[name]).findOne({ _id: { $gt: '' } }, first)) found.push(`the collection ${name}`);
  if (!(await blobs.isEmpty())) found.push('the file store');
  return found;
}

/** Refuses unless this backup can be restored into these stores. Changes nothing. */
async function checkTarget(platform: RestorePlatform, { id, keys }: BackupManifest, isResumed: boolean): Promise<void> {
  const knownIds = listKeys(platform.config).map(deriveKeyId);
  if (!keys.every((key) => knownIds.includes(key))) throw createKeyError('backup');
  const processes = await platform.listOtherProcesses();
  if (processes.length > 0)
    throw new BackupError(`These processes use the stores: ${processes.join(', ')}. Stop them. One that was killed is listed for 20 s.`);
  const begun = await readRestoreMark(platform.db);
  if (begun !== null && !isResumed)
    throw new BackupError(
      'A restore into this database was interrupted. Run `operator restore --resume` with the same backup, or empty the stores.',
    );
  if (begun !== null && begun !== id)
    throw new BackupError('The interrupted restore was that of another backup. Run it with that one, or empty the stores.');
  const data = begun === null ? await findData(platform) : [];
  if (data.length > 0) throw new BackupError(`A backup is restored into empty stores only, but there is data in ${data.join(', ')}.`);
}

/**
 * Restores a backup into empty stores. Refuses before anything is written if the stores are not empty, or the backup is that of another APP_KEY or of a newer
 * version, or, if it can be read twice, is damaged. Until the restore is complete, no process starts on the database. With `resume` an interrupted restore of
 * the same backup is continued (docs/store.md#backups).
 */
export async function restoreBackup(platform: RestorePlatform, source: BackupSource, resume: boolean, report: Report): Promise<Restored> {
  const { config, db, blobs } = platform;
  const check = (manifest: BackupManifest): Promise<void> => checkTarget(platform, manifest, resume);
  if (source.isRepeatable) await verifyBackup(source.open(), report, check);
  const progress = createProgress(report);
  const refused: string[] = [];
  const restored = { documents: 0, files: 0 };
  let fromUrl = '';
  const { manifest, summary } = await readBackup(source.open(), () => blobs.newTempPath(), {
    async begin(begun) {
      await check(begun);
      await writeRestoreMark(db, begun.id);
      fromUrl = begun.baseUrl;
      // The ledger of the backup says which migrations its documents have had. The indexes of this version are needed from the beginning, for unique values.
      await db.migrations.deleteMany({ _id: { $ne: 'schema' } });
      await migrate(db, config, report, []);
    },
    async receiveDocuments(name, docs) {
      const target = { db, fromUrl, toUrl: config.baseUrl, now: new Date() };
      refused.push(...(await storeDocuments(target, name, docs)).map((id) => `${name} ${id}`));
      failpoint(config, 'after-restore-page');
      restored.documents += docs.length;
      progress(() => `${name}: ${restored.documents} documents restored`);
    },
    async receiveFile(name, path) {
      // The blob of a file that was uploaded after the documents of files were read has no document.
      const isUsed = (await exists(db.files, { blob: name })) || (await exists(db.files, { original: name }));
      if (path !== null) await (isUsed ? blobs.put(name, path) : rm(path, { force: true }));
      failpoint(config, 'after-restore-file');
      restored.files++;
      progress(() => `${restored.files} files restored`);
    },
  });
  await migrate(db, config, report);
  await storeRestoredLog(db, config.LOG_PARTITIONS, Math.max(manifest.epoch, await platform.readEpoch()));
  await storeKeyIds(db, manifest.keys);
  await clearRestoreMark(db);
  return { ...manifest, ...summary, refused };
}
