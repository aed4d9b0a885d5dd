import type { Readable } from 'node:stream';
import { createProgress, type Report } from '../../base/progress.ts';
import { deserialize } from '../../store/mongo/ejson.ts';
import { migrations } from '../../store/mongo/migrations.ts';
import { readArchive } from './archive-reader.ts';
import {
  BackupError,
  type BackupManifest,
  type BackupSummary,
  backupFormat,
  type CollectionName,
  containedCollections,
  documentsEntry,
  entryNames,
} from './contents.ts';
import type { AnyDoc } from './pages.ts';

/** Receives the parts of a backup in their order. The checksum of each was checked. */
export interface BackupReceiver {
  begin(manifest: BackupManifest): Promise<void>;
  receiveDocuments(name: CollectionName, docs: readonly AnyDoc[]): Promise<void>;
  /** `path` is a local file with the bytes, which the receiver deletes; null if blobs are only checked. */
  receiveFile(name: string, path: string | null): Promise<void>;
}

/** Reads the manifest of a backup, and refuses one that this version cannot restore. */
function parseManifest(text: string): BackupManifest {
  const manifest = JSON.parse(text) as Omit<BackupManifest, 'format'> & { format: number };
  if (manifest.format !== backupFormat)
    throw new BackupError(
      `The backup has the format ${manifest.format}, and this version reads ${backupFormat}. Use the version that made it, ${manifest.parlance}.`,
    );
  const known = new Set<string>([...migrations.map(({ name }) => name), ...containedCollections]);
  const unknown = [...manifest.migrations, ...manifest.collections].filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new BackupError(
      `The backup was made by a newer version, ${manifest.parlance}, with what this version does not know: ${unknown.join(', ')}. Install that version or a later one.`,
    );
  return { ...manifest, format: backupFormat };
}

function parseDocuments(data: Buffer): AnyDoc[] {
  const docs: AnyDoc[] = [];
  for (let at = 0; at < data.length; ) {
    const size = data.readInt32LE(at);
    docs.push(deserialize(data.subarray(at, at + size), { promoteLongs: false }) as AnyDoc);
    at += size;
  }
  return docs;
}

/**
 * Reads a whole backup, checks every checksum and that the counts agree, and passes its parts to `receiver`. `newPath` is that of `readArchive`. Throws
 * `BackupError` when the backup is damaged or incomplete, or of a version that cannot be read here.
 */
export async function readBackup(
  input: Readable,
  newPath: (() => Promise<string>) | null,
  receiver: BackupReceiver,
): Promise<{ manifest: BackupManifest; summary: BackupSummary }> {
  let manifest: BackupManifest | null = null;
  let summary: BackupSummary | null = null;
  const documents: BackupSummary['documents'] = {};
  const files = { count: 0, bytes: 0 };
  for await (const { name, size, blob, path, data } of readArchive(input, newPath)) {
    const collection = containedCollections.find((one) => one === documentsEntry.exec(name)?.[1]);
    if (!manifest && name === entryNames.manifest) {
      manifest = parseManifest(String(data));
      await receiver.begin(manifest);
    } else if (manifest && name === entryNames.summary) summary = JSON.parse(String(data)) as BackupSummary;
    else if (manifest && blob !== null) {
      files.count++;
      files.bytes += size;
      await receiver.receiveFile(blob, path);
    } else if (manifest && collection) {
      const docs = parseDocuments(data);
      documents[collection] = (documents[collection] ?? 0) + docs.length;
      await receiver.receiveDocuments(collection, docs);
    } else throw new BackupError(`This is no backup of Parlance: it has an unexpected entry, ${name}.`);
  }
  if (!manifest || !summary) throw new BackupError('This is no backup of Parlance: it is empty.');
  const isWhole = containedCollections.every((name) => (documents[name] ?? 0) === (summary?.documents[name] ?? 0));
  if (!isWhole || files.count !== summary.files.count || files.bytes !== summary.files.bytes || summary.id !== manifest.id)
    throw new BackupError('The backup is damaged: its counts do not agree with its contents.');
  return { manifest, summary };
}

/** Checks a backup without storing anything; `check` may refuse it by its manifest. Resolves with what it says about itself. */
export async function verifyBackup(
  input: Readable,
  report: Report,
  check: (manifest: BackupManifest) => Promise<void> = async () => undefined,
): Promise<BackupManifest & BackupSummary> {
  const progress = createProgress(report);
  const checked = { documents: 0, files: 0 };
  const { manifest, summary } = await readBackup(input, null, {
    begin: check,
    async receiveDocuments(name, docs) {
      checked.documents += docs.length;
      progress(() => `${name}: ${checked.documents} documents checked`);
    },
    async receiveFile() {
      checked.files++;
      progress(() => `${checked.files} files checked`);
    },
  });
  return { ...manifest, ...summary };
}
