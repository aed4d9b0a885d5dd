import { type FileHandle, open, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { forEachLimit } from '../../base/for-each-limit.ts';
import { limits } from '../../base/limits.ts';
import type { OpenBlob } from '../../store/files/store.ts';
import { BlobsUnavailable } from '../../store/files/temp.ts';
import type { ExportDoc } from '../../store/mongo/models/export.ts';
import type { FilesPlatform } from '../../store/platform.ts';

/** How many parts are deleted at once. */
const deletesAtOnce = 8;

/** The names of the blobs with the parts of one attempt. */
const listPartNames = ({ key, parts }: ExportDoc, attempt: number): string[] =>
  Array.from({ length: parts[attempt - 1] ?? 0 }, (_, at) => `${key}-${attempt}-${at + 1}`);

/** A local file that takes the bytes of one part. */
interface LocalPart {
  path: string;
  file: FileHandle;
  bytes: number;
}

/**
 * Stores the bytes of `source` as the parts of an attempt, so that neither the memory nor the disk of this machine has to hold the archive. `recordPart` is
 * called with the number of each part before it is stored. Returns the number of bytes.
 */
export async function storeParts(
  { blobs }: FilesPlatform,
  { key, attempts }: ExportDoc,
  source: Readable,
  recordPart: (part: number) => Promise<void>,
): Promise<number> {
  let total = 0;
  let count = 0;
  let current: LocalPart | null = null;
  const storeCurrent = async ({ path, file, bytes }: LocalPart): Promise<void> => {
    await file.close();
    current = null;
    count++;
    total += bytes;
    try {
      await recordPart(count);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    await blobs.put(`${key}-${attempts}-${count}`, path, 'application/octet-stream');
  };
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      const path: string = current?.path ?? (await blobs.newTempPath());
      const part: LocalPart = current ?? { path, file: await open(path, 'wx', 0o600), bytes: 0 };
      current = part;
      await part.file.appendFile(chunk);
      part.bytes += chunk.length;
      if (part.bytes >= limits.exportPartBytes) await storeCurrent(part);
    }
    if (current) await storeCurrent(current);
    return total;
  } finally {
    if (current) {
      await current.file.close().catch(() => undefined);
      await rm(current.path, { force: true });
    }
  }
}

/** Opens the archive of an export that is ready; null when its first part is gone. The stream fails when another part is gone. */
export async function openParts({ blobs }: FilesPlatform, doc: ExportDoc): Promise<Readable | null> {
  const [first = '', ...others] = listPartNames(doc, doc.attempts);
  const firstPart = await blobs.open(first);
  if (!firstPart) return null;
  const readAll = async function* (): AsyncGenerator<Buffer> {
    let part: OpenBlob | null = firstPart;
    try {
      for (const name of ['', ...others]) {
        if (name !== '') part = await blobs.open(name);
        if (!part) throw new BlobsUnavailable(new Error('a part of the export is gone'));
        yield* part.stream as AsyncIterable<Buffer>;
      }
    } finally {
      part?.stream.destroy();
    }
  };
  const stream = Readable.from(readAll(), { objectMode: false });
  stream.once('close', () => firstPart.stream.destroy()); // the generator has not begun if nobody has read
  return stream;
}

/** Deletes every part that an attempt before `untilAttempt` may have stored; by default, those of all attempts. */
export const deleteParts = ({ blobs }: FilesPlatform, doc: ExportDoc, untilAttempt = doc.attempts + 1): Promise<void> => {
  const names = doc.parts.flatMap((_, at) => (at + 1 < untilAttempt ? listPartNames(doc, at + 1) : []));
  return forEachLimit(names, deletesAtOnce, (name) => blobs.delete(name));
};
