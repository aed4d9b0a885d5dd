import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { newRefusal, refuse } from '../../../lib/base/errors.ts';
import { cleanFilename } from '../../../lib/base/filenames.ts';
import { megapixelsOf, sidesBytes } from '../../../lib/base/image-sides.ts';
import { limits } from '../../../lib/base/limits.ts';
import { magicBytes } from '../../../lib/base/magic.ts';
import { tooDeep } from '../../../lib/contract/check.ts';
import type { ReceivedFile } from '../../../lib/domain/files/attachments.ts';

/** The content of a multipart body: the JSON of `payload_json` (`{}` without that part) and the files in their order. */
export interface Upload {
  fields: unknown;
  files: ReceivedFile[];
}

/** Options of `readUpload`. */
export interface UploadOptions {
  /** Returns a path for a new local file. The caller deletes all these files, also after a failure. */
  tempPath: () => Promise<string>;
  /** Called before each file is read; throws to refuse it. */
  beforeFile: () => void;
  /** Rejects when the body must not be read further. */
  failed: Promise<never>;
}

const mediaType = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}$/;
/** How long the sender of a refused body may continue to send, in milliseconds. */
const drainMs = 30_000;
const invalid = (reason: string): never => refuse('invalid_request', { reason });

/** The largest allowed file in bytes, and that limit as text for the error. */
interface FileBound {
  bytes: number;
  limit: string;
}

const attachmentBound: FileBound = { bytes: limits.fileBytes, limit: '10 MiB a file' };

/** Writes a part, or a whole body, to a new local file, and computes its size and hash. Refuses a file over `bound` as soon as the limit is passed (413). */
export async function takeFile(
  part: Readable,
  path: string,
  bound: FileBound = attachmentBound,
): Promise<Pick<ReceivedFile, 'size' | 'sha256' | 'head' | 'megapixels'>> {
  const hash = createHash('sha256');
  const target = createWriteStream(path, { flags: 'wx' });
  const written = finished(target);
  written.catch(() => undefined);
  let head = Buffer.alloc(0);
  let size = 0;
  try {
    for await (const chunk of part as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bound.bytes) refuse('payload_too_large', { limit: bound.limit });
      if (head.length < sidesBytes) head = Buffer.concat([head, chunk.subarray(0, sidesBytes - head.length)]);
      hash.update(chunk);
      if (!target.write(chunk)) await Promise.race([once(target, 'drain'), written]);
    }
    target.end();
    await written;
  } catch (error) {
    target.destroy();
    await written.catch(() => undefined); // wait until it is closed: a file that is still being opened would be created after its deletion
    throw error;
  }
  return { size, sha256: hash.digest('hex'), head: Buffer.from(head.subarray(0, magicBytes)), megapixels: megapixelsOf(head) };
}

/** Reads a `payload_json` part. Refuses more than 1 MiB (413), invalid UTF-8 or JSON, a field `__proto__`, and nesting deeper than 32 (400). */
async function takeJson(part: Readable): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of part as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.bodyBytes) refuse('payload_too_large', { limit: '1 MiB in payload_json' });
    chunks.push(chunk);
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)), (key, inner: unknown) => {
      if (key === '__proto__') throw new SyntaxError(key);
      return inner;
    });
  } catch {
    return invalid('payload_json is not valid JSON');
  }
  if (tooDeep(value)) return invalid(`payload_json is nested deeper than ${limits.bodyDepth}`);
  return value;
}

/** Pipes `request` into `parser` until all of it is processed. Rejects when the body is invalid or ends early, or when `failed` does. */
export function feed(request: IncomingMessage, parser: Writable, failed: Promise<never>): Promise<void> {
  const fed = new Promise<void>((resolve, reject) => {
    const fail = (reason: string): void => reject(newRefusal('invalid_request', { reason }));
    const gone = (): unknown => request.complete || fail('the body ended early');
    request.once('close', gone);
    if (request.destroyed) gone(); // the client disconnected before the listener was added
    parser.once('finish', resolve);
    parser.once('error', () => fail('the body cannot be read'));
    request.pipe(parser);
    failed.catch(reject);
  });
  return fed.finally(() => {
    request.unpipe(parser);
    parser.on('error', () => undefined);
  });
}

/** Reads and discards the rest of a refused body, so that the sender sees the answer. The connection is closed if the body does not end within `ms`. */
export function drain(request: IncomingMessage, ms: number = drainMs): void {
  request.resume();
  const timer = setTimeout(() => request.destroy(), ms).unref();
  request.once('close', () => clearTimeout(timer));
}

const newParser = (request: IncomingMessage): BusboyInstance => {
  try {
    return new Busboy({
      headers: request.headers as BusboyHeaders,
      preservePath: true,
      isPartAFile: () => true,
      limits: { headerPairs: 32, headerSize: 16 * 1024 },
    });
  } catch {
    return invalid('the body is not valid multipart/form-data');
  }
};

/** How many parts the parser has seen, including those with unreadable headers, for which it emits no event. */
const partsSeen = (parser: BusboyInstance): number => (parser as unknown as { _parser: { _nparts: number } })._parser._nparts;

/**
 * Reads a `multipart/form-data` body: at most 10 parts `files`, which are written to local files as they arrive, and one part `payload_json`, in any order
 * (docs/behavior/messages.md#files). Only a few chunks are in memory at a time. Refuses invalid bodies, other parts and an eleventh file (400), and a file over
 * 10 MiB (413), as soon as it sees them. Rejects when `options.failed` does. The rest of the body is then read and discarded, so that the sender sees the
 * answer.
 */
export async function readUpload(request: IncomingMessage, options: UploadOptions): Promise<Upload> {
  const parser = newParser(request);
  const files: Promise<ReceivedFile>[] = [];
  const parts: Readable[] = [];
  const fields: Promise<unknown>[] = [];
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const takeNamed = async (part: Readable, filename: string | undefined, type: string): Promise<ReceivedFile> => {
    const path = await options.tempPath();
    const contentType = mediaType.test(type) ? type : 'application/octet-stream';
    return { path, filename: cleanFilename(filename), contentType, ...(await takeFile(part, path)) };
  };
  parser.on('file', (name: string | undefined, part: Readable, filename: string | undefined, _encoding: string, type: string) => {
    part.on('error', () => undefined);
    parts.push(part);
    try {
      if (name === 'files') {
        if (files.length === limits.filesPerMessage) invalid(`a message has at most ${limits.filesPerMessage} files`);
        options.beforeFile();
        files.push(takeNamed(part, filename, type));
        files.at(-1)?.catch(fail);
      } else if (name === 'payload_json') {
        if (fields.length) invalid('payload_json comes twice');
        fields.push(takeJson(part));
        fields[0]?.catch(fail);
      } else invalid('a part is neither payload_json nor files');
    } catch (error) {
      fail(error);
    }
  });
  try {
    options.failed.catch(fail);
    await feed(request, parser, failed);
    if (partsSeen(parser) !== parts.length) invalid('a part does not say what it is');
    const [value = {}] = await Promise.all(fields);
    return { fields: value, files: await Promise.all(files) };
  } catch (error) {
    for (const part of parts) part.destroy(new Error('the body was refused'));
    drain(request);
    await Promise.allSettled(files);
    throw error;
  }
}

/** Deletes local files. Files that do not exist are ignored. */
export async function removeLocal(paths: readonly string[]): Promise<void> {
  await Promise.all(paths.map((path) => rm(path, { force: true })));
}
