import { failpoint } from '../../base/failpoint.ts';
import { createProgress, type Report } from '../../base/progress.ts';
import type { BackupPlatform } from '../../store/backup-platform.ts';
import { exists } from '../../store/mongo/database.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { ArchiveWriter } from './archive-writer.ts';
import { BackupError, formatFileBytes } from './contents.ts';

/** How many documents one query reads. */
const pageSize = 500;

/** Reads the names of the blobs that files have in `field`, each once, in order. */
async function* readBlobNames({ db }: BackupPlatform, field: 'blob' | 'original'): AsyncGenerator<string, void> {
  for (let last = ''; ; ) {
    const found: FileDoc[] = await db.files
      .find({ [field]: { $gt: last } })
      .sort({ [field]: 1 })
      .limit(pageSize)
      .toArray();
    for (const file of found) {
      const name = file[field] ?? '';
      if (name === last) continue;
      last = name;
      yield name;
    }
    if (found.length < pageSize) return;
  }
}

/** Whether a file needs this blob. One that is undecided or deleted, or whose image waits for its conversion, may have a name without a blob. */
const isNeeded = ({ db }: BackupPlatform, blob: string): Promise<boolean> =>
  exists(db.files, { blob, state: 'stored', openAt: { $exists: false } });

/**
 * Writes the bytes of all files. The blobs that wait for a conversion come first, because a conversion may make them the blobs that are served: so a blob that is
 * renamed meanwhile is found by one of the two passes. Returns how many there were, and how many should be there and are not. Throws
 * `BackupError` if all are missing.
 */
export async function writeFiles(
  platform: BackupPlatform,
  archive: ArchiveWriter,
  checkLease: () => void,
  report: Report,
): Promise<{ count: number; bytes: number; missing: number }> {
  const written = { count: 0, bytes: 0, missing: 0 };
  const progress = createProgress(report);
  const line = (): string => `files: ${written.count} files, ${formatFileBytes(written.bytes)}`;
  for (const field of ['original', 'blob'] as const)
    for await (const name of readBlobNames(platform, field)) {
      checkLease();
      const blob = await platform.blobs.open(name);
      if (!blob) {
        if (field === 'blob' && (await isNeeded(platform, name))) written.missing++;
        continue;
      }
      try {
        await archive.write(`blobs/${name}`, blob.size, blob.stream as AsyncIterable<Buffer>);
      } finally {
        blob.stream.destroy();
      }
      failpoint(platform.config, 'after-backup-file');
      written.count++;
      written.bytes += blob.size;
      progress(line);
    }
  report(line());
  if (written.count === 0 && written.missing > 0)
    throw new BackupError(
      'The file store has no file of this database. Set FILES_DIR, or S3_ENDPOINT and S3_BUCKET, to the same as for the other processes.',
    );
  return written;
}
