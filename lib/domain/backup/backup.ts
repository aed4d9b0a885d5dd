import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { createProgress, type Report } from '../../base/progress.ts';
import type { BackupPlatform } from '../../store/backup-platform.ts';
import { readKeyIds } from '../../store/mongo/app-key.ts';
import { takeBackupLease } from '../../store/mongo/backup-lease.ts';
import { serialize } from '../../store/mongo/ejson.ts';
import { getEpoch } from '../../store/redis/log/epochs.ts';
import { type ArchiveWriter, createArchiveWriter } from './archive-writer.ts';
import {
  BackupError,
  type BackupManifest,
  type BackupSummary,
  backupFormat,
  containedCollections,
  entryNames,
  pagedCollections,
} from './contents.ts';
import { writeFiles } from './file-bytes.ts';
import { readPages } from './pages.ts';

async function makeManifest({ config, db }: BackupPlatform, parlance: string): Promise<BackupManifest> {
  const applied = await db.migrations.find({ doneAt: { $exists: true } }).toArray();
  const log = await db.log.findOne({ _id: 'log' });
  return {
    format: backupFormat,
    id: randomUUID(),
    parlance,
    createdAt: new Date().toISOString(),
    keys: await readKeyIds(db),
    migrations: applied.map(({ _id }) => _id),
    collections: containedCollections,
    baseUrl: config.baseUrl,
    epoch: Math.max(0, ...Object.values(log?.acknowledged ?? {}).map(getEpoch)),
  };
}

const writeJson = (archive: ArchiveWriter, name: string, value: object): Promise<void> => {
  const bytes = Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
  return archive.write(name, bytes.length, [bytes]);
};

/**
 * Writes a backup of the database and of all files to `output`, while the installation runs. Everything that was stored before the call is in it
 * (docs/store.md#backups). `version` is the version of Parlance. Rejects, and ends `output` early, when a store or the output fails.
 */
export async function writeBackup(
  platform: BackupPlatform,
  output: Writable,
  version: string,
  report: Report,
): Promise<BackupManifest & BackupSummary> {
  const lease = await takeBackupLease(platform.db);
  const archive = createArchiveWriter(output);
  try {
    const manifest = await makeManifest(platform, version);
    await writeJson(archive, entryNames.manifest, manifest);
    const documents = await writeDocuments(platform, archive, lease.check, report);
    const files = await writeFiles(platform, archive, lease.check, report);
    lease.check();
    const keys = await readKeyIds(platform.db);
    if (keys.join() !== manifest.keys.join()) throw new BackupError('APP_KEY was replaced while the backup ran. Run the backup again.');
    const { missing: missingFiles, ...written } = files;
    const summary: BackupSummary = { id: manifest.id, documents, files: written, missingFiles, sha256: archive.checksum() };
    await writeJson(archive, entryNames.summary, summary);
    await archive.end();
    return { ...manifest, ...summary };
  } catch (error) {
    archive.abort();
    throw error;
  } finally {
    lease.release();
  }
}

async function writeDocuments(
  { db }: BackupPlatform,
  archive: ArchiveWriter,
  checkLease: () => void,
  report: Report,
): Promise<BackupSummary['documents']> {
  const documents: BackupSummary['documents'] = {};
  const progress = createProgress(report);
  let pages = 0;
  for (const collection of pagedCollections) {
    for await (const { name, docs } of readPages(db, collection)) {
      checkLease();
      const bytes = docs.map((doc) => serialize(doc));
      const size = bytes.reduce((sum, { length }) => sum + length, 0);
      if (docs.length > 0) await archive.write(`${name}/${String(++pages).padStart(8, '0')}.bson`, size, bytes);
      documents[name] = (documents[name] ?? 0) + docs.length;
      progress(() => `${name}: ${documents[name]} documents`);
    }
    report(`${collection}: ${documents[collection] ?? 0} documents`);
  }
  return documents;
}
