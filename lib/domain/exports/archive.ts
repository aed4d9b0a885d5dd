import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';

/** The longest name of a file in the archive, in bytes. File systems allow 255, and folders to extract it into have names, too. */
const nameBytes = 150;

/** Writes a zip archive, one entry after the other. The output is read while it is written. */
export interface ExportArchive {
  readonly output: Readable;
  /** Adds a text file. */
  addText(name: string, text: string): Promise<void>;
  /** Adds a file with these items as an array in JSON, one on each line. */
  addList(name: string, items: AsyncIterable<object> | Iterable<object>): Promise<void>;
  /** Adds a file of `size` bytes as it is, because uploaded files rarely shrink. */
  addFile(name: string, size: number, content: Readable): Promise<void>;
  /** Writes the directory of the archive. */
  end(): void;
  /** Ends the output with an error. */
  abort(error: Error): void;
}

async function* writeJsonList(items: AsyncIterable<object> | Iterable<object>): AsyncGenerator<string> {
  let before = '[\n';
  for await (const item of items) {
    yield before + JSON.stringify(item);
    before = ',\n';
  }
  yield before === '[\n' ? '[]\n' : '\n]\n';
}

/** Starts an archive. When `signal` is aborted, `add…` rejects instead of waiting for a reader that has gone. */
export function createExportArchive(signal: AbortSignal): ExportArchive {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  zip.on('error', (error: Error) => output.destroy(error));
  const add = async (name: string, content: Readable, options: { compress: boolean; size?: number }): Promise<void> => {
    const ended = finished(content, { signal });
    zip.addReadStream(content, name, { ...options, mode: 0o100600 });
    try {
      await ended;
    } finally {
      content.destroy();
    }
  };
  return {
    output,
    addText: (name, text) => add(name, Readable.from([Buffer.from(text)], { objectMode: false }), { compress: true }),
    addList: (name, items) => add(name, Readable.from(writeJsonList(items), { objectMode: false }), { compress: true }),
    addFile: (name, size, content) => add(name, content, { compress: false, size }),
    end: () => zip.end(),
    abort: (error) => void output.destroy(error),
  };
}

/** Cuts a name to `maxBytes` bytes of UTF-8, without cutting a character. */
function cutToBytes(name: string, maxBytes: number): string {
  let cut = '';
  let bytes = 0;
  for (const character of name) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    cut += character;
  }
  return cut;
}

/**
 * The name under which an uploaded file is in the archive: its id, which makes it unique, and its file name without what a file system or an unpacking program
 * may take for something else. It keeps its extension.
 */
export function toArchiveName(id: string, filename: string): string {
  const safe = filename.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\\/:*?"<>|]/gu, '_').replace(/[. ]+$/, '');
  const extension = /\.[a-zA-Z0-9]{1,10}$/.exec(safe)?.[0] ?? '';
  const base = cutToBytes(safe.slice(0, safe.length - extension.length), nameBytes - extension.length);
  return `files/${id}-${base}${extension}`;
}
