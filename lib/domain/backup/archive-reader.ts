import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename } from 'node:path/posix';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { BlobsUnavailable } from '../../store/files/temp.ts';
import { toChecksumLine } from './archive-writer.ts';
import { BackupError, blobEntry, entryNames, maxBufferedBytes } from './contents.ts';

/** An entry whose checksum is right. */
export interface ArchiveEntry {
  name: string;
  size: number;
  /** The name of the blob whose bytes this is; null for any other entry. */
  blob: string | null;
  /** A local file with the bytes of the blob, which the receiver deletes; null for any other entry, or if blobs are only checked. */
  path: string | null;
  /** The bytes of any other entry. */
  data: Buffer;
}

const damaged = (why: string): BackupError => new BackupError(`The backup is damaged or incomplete (${why}). Use another one.`);

/** An entry of the tar reader, as far as it is used here. */
interface Entry extends AsyncIterable<Buffer> {
  header: { name: string; size?: number | undefined };
}

async function readEntry(entry: Entry, newPath: (() => Promise<string>) | null): Promise<ArchiveEntry & { sha256: string }> {
  const { name, size = 0 } = entry.header;
  const hash = createHash('sha256');
  const blob = blobEntry.exec(name)?.[1] ?? null;
  if (blob === null && size > maxBufferedBytes) throw damaged(`${name} is too large`);
  const path = blob !== null && newPath ? await newPath() : null;
  const chunks: Buffer[] = [];
  const hashed = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of entry) {
      hash.update(chunk);
      if (blob === null) chunks.push(chunk);
      yield chunk;
    }
  };
  if (path === null) for await (const _ of hashed());
  else {
    const copy = createWriteStream(path, { mode: 0o600 });
    await pipeline(hashed, copy).catch(async (error: unknown) => {
      await rm(path, { force: true });
      throw error === copy.errored && !isFormatError(error) ? new BlobsUnavailable(error) : error;
    });
  }
  return { name, size, blob, path, data: Buffer.concat(chunks), sha256: hash.digest('hex') };
}

/**
 * Reads the entries of an archive and checks the checksum of each before it is yielded, and the checksum of the whole before the last one. `newPath` returns
 * paths for the blobs; with null they are only checked. Throws `BackupError` when the archive is damaged or incomplete.
 */
export async function* readArchive(input: Readable, newPath: (() => Promise<string>) | null): AsyncGenerator<ArchiveEntry, void> {
  const tar = extract();
  let failure: unknown;
  const fed = pipeline(input, createGunzip(), tar).catch((error: unknown) => {
    failure = error;
  });
  const whole = createHash('sha256');
  let pending: Awaited<ReturnType<typeof readEntry>> | null = null;
  let isComplete = false;
  try {
    for await (const entry of tar as AsyncIterable<Entry>) {
      if (isComplete) throw damaged('something follows its end');
      if (!pending) {
        pending = await readEntry(entry, newPath);
        continue;
      }
      const { sha256, ...found } = pending;
      const line = await readEntry(entry, null);
      if (line.name !== `${found.name}.sha256`) throw damaged(`${found.name} has no checksum`);
      if (String(line.data) !== toChecksumLine(sha256, basename(found.name))) throw damaged(`${found.name} has another checksum`);
      pending = null;
      if (found.name === entryNames.summary) {
        isComplete = true;
        const { sha256: expected } = JSON.parse(String(found.data)) as { sha256?: unknown };
        if (expected !== whole.digest('hex')) throw damaged('entries are missing');
      } else whole.update(toChecksumLine(sha256, found.name));
      yield found;
    }
    await fed;
    if (failure) throw failure;
    if (!isComplete) throw damaged('its end is missing');
  } catch (error) {
    const cause = failure ?? error;
    if (isFormatError(cause)) throw damaged((cause as Error).message);
    throw cause === input.errored ? new BackupError(`The backup cannot be read: ${input.errored?.message}`) : cause;
  } finally {
    if (pending?.path) await rm(pending.path, { force: true });
    input.destroy();
    tar.destroy();
  }
}

/** Whether an error of the decompression or of the tar reader says that the bytes are not those of an archive. */
function isFormatError(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message: string };
  const isTarError = /^(Unexpected end of data|Invalid tar header)/.test(message) || error instanceof SyntaxError;
  return isTarError || (typeof code === 'string' && (code.startsWith('Z_') || code === 'ERR_STREAM_PREMATURE_CLOSE'));
}
