import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { basename } from 'node:path/posix';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { BackupError } from './contents.ts';

type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Writes the entries of an archive: a gzipped tar file in which each entry is followed by its checksum, in the format of `sha256sum`. */
export interface ArchiveWriter {
  /** Writes one entry of `size` bytes; resolves when it can take the next one. Throws `BackupError` when the output fails or `content` has another size. */
  write(name: string, size: number, content: Content): Promise<void>;
  /** The checksum of all entries so far (`BackupSummary`). */
  checksum(): string;
  /** Ends the archive; resolves when the output has ended. */
  end(): Promise<void>;
  /** Ends the output without ending the archive, so that it cannot pass for a whole one. */
  abort(): void;
}

/** The line of an entry in the checksum of the whole. */
export const toChecksumLine = (sha256: string, name: string): string => `${sha256}  ${name}\n`;

const refuse = (error: Error): never => {
  throw new BackupError(`The backup cannot be written: ${error.message}`);
};

/** Starts an archive that is written to `output`. */
export function createArchiveWriter(output: Writable): ArchiveWriter {
  const tar = pack();
  // Most bytes are images and other files that do not shrink, so it is compressed fast rather than well.
  const written = pipeline(tar, createGzip({ level: 1 }), output);
  written.catch(() => undefined); // `write` and `end` reject with it
  const failed = new Promise<never>((_, reject) => void written.catch(reject));
  failed.catch(() => undefined);
  const whole = createHash('sha256');

  const openEntry = async (name: string, size: number, report: (error?: Error | null) => void) => {
    try {
      const entry = tar.entry({ name, size, mode: 0o600, mtime: new Date() }, report);
      entry.on('error', () => undefined); // `report` gets it, too
      return entry;
    } catch (error) {
      await written.catch(refuse); // after the output has failed, the archive takes no entry
      throw error;
    }
  };
  const writeEntry = async (name: string, size: number, content: Content, hash?: Hash): Promise<void> => {
    let report: (error?: Error | null) => void = () => undefined;
    const stored = new Promise<void>((resolve, reject) => {
      report = (error) => (error ? reject(error) : resolve());
    });
    stored.catch(() => undefined); // it is awaited below
    const entry = await openEntry(name, size, report);
    for await (const chunk of content) {
      hash?.update(chunk);
      if (!entry.write(chunk)) await Promise.race([once(entry, 'drain'), stored, failed]).catch(refuse);
    }
    entry.end(null);
    await Promise.race([stored, failed]).catch(refuse);
  };
  return {
    async write(name, size, content) {
      const hash = createHash('sha256');
      await writeEntry(name, size, content, hash);
      const sha256 = hash.digest('hex');
      whole.update(toChecksumLine(sha256, name));
      const line = Buffer.from(toChecksumLine(sha256, basename(name)));
      await writeEntry(`${name}.sha256`, line.length, [line]);
    },
    checksum: () => whole.copy().digest('hex'),
    async end() {
      tar.finalize();
      await written.catch(refuse);
    },
    abort: () => tar.destroy(),
  };
}
