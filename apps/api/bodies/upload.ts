import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Dicer } from '@fastify/busboy';
import { parse as parseDisposition } from 'content-disposition';
import { parse as parseContentType } from 'content-type';
import type { Context } from 'koa';
import type { Static, TSchema } from 'typebox';
import { newRefusal, refuse } from '../../../lib/base/errors.ts';
import { cleanFilename } from '../../../lib/base/filenames.ts';
import { dimensionsHeadBytes, estimateMegapixels } from '../../../lib/base/image-dimensions.ts';
import { formatMib, limits } from '../../../lib/base/limits.ts';
import { magicBytes } from '../../../lib/base/magic.ts';
import { isTooDeep } from '../../../lib/contract/check.ts';
import type { Actor } from '../../../lib/domain/access/checks.ts';
import type { ReceivedFile } from '../../../lib/domain/files/attachments.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { checkFields, hasBody, readJson } from './json.ts';
import { type BodyReader, toUploadLimits, withLocalFiles } from './reader.ts';
import { decodeText, parseJson } from './text.ts';

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
  bodyFailed: Promise<never>;
}

const mediaType = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}$/;
/** How long the sender of a refused body may continue to send, in milliseconds. */
const discardTimeoutMs = 30_000;
const refuseInvalid = (reason: string): never => refuse('invalid_request', { reason });

/** The largest allowed file in bytes, and that limit as text for the error. */
interface FileLimit {
  bytes: number;
  text: string;
}

const attachmentLimit: FileLimit = { bytes: limits.fileBytes, text: `${formatMib(limits.fileBytes)} a file` };

/** Writes a part, or a whole body, to a new local file, and computes its size and hash. Refuses a file over `limit` as soon as the limit is passed (413). */
export async function receiveFile(
  part: Readable,
  path: string,
  limit: FileLimit = attachmentLimit,
): Promise<Pick<ReceivedFile, 'size' | 'sha256' | 'head' | 'megapixels'>> {
  const hash = createHash('sha256');
  const target = createWriteStream(path, { flags: 'wx' });
  const writeFinished = finished(target);
  writeFinished.catch(() => undefined);
  let head = Buffer.alloc(0);
  let size = 0;
  try {
    for await (const chunk of part as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit.bytes) refuse('payload_too_large', { limit: limit.text });
      if (head.length < dimensionsHeadBytes) head = Buffer.concat([head, chunk.subarray(0, dimensionsHeadBytes - head.length)]);
      hash.update(chunk);
      if (!target.write(chunk)) await Promise.race([once(target, 'drain'), writeFinished]);
    }
    target.end();
    await writeFinished;
  } catch (error) {
    target.destroy();
    await writeFinished.catch(() => undefined); // wait until it is closed: a file that is still being opened would be created after its deletion
    throw error;
  }
  return { size, sha256: hash.digest('hex'), head: Buffer.from(head.subarray(0, magicBytes)), megapixels: estimateMegapixels(head) };
}

/** Reads a `payload_json` part. Refuses more than 1 MiB (413), an unknown character set (415), invalid text or JSON, a field `__proto__`, and nesting deeper than 32 (400). */
async function readJsonPart(part: Readable, charset: string | undefined): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of part as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.bodyBytes) refuse('payload_too_large', { limit: `${formatMib(limits.bodyBytes)} in payload_json` });
    chunks.push(chunk);
  }
  const value = parseJson(decodeText(Buffer.concat(chunks), charset, 'payload_json'), 'payload_json');
  if (isTooDeep(value)) return refuseInvalid(`payload_json is nested deeper than ${limits.bodyDepth}`);
  return value;
}

/** Pipes `request` into `parser` until all of it is processed. Rejects when the body is invalid or ends early, or when `bodyFailed` does. */
export function pipeBody(request: IncomingMessage, parser: Writable, bodyFailed: Promise<never>): Promise<void> {
  const piped = new Promise<void>((resolve, reject) => {
    const fail = (reason: string): void => reject(newRefusal('invalid_request', { reason }));
    const onClose = (): unknown => request.complete || fail('the body ended early');
    request.once('close', onClose);
    if (request.destroyed) onClose(); // the client disconnected before the listener was added
    parser.once('finish', resolve);
    parser.once('error', () => fail('the body cannot be read'));
    request.pipe(parser);
    bodyFailed.catch(reject);
  });
  return piped.finally(() => {
    request.unpipe(parser);
    parser.on('error', () => undefined);
  });
}

/** Reads and discards the rest of a refused body, so that the sender sees the answer. The connection is closed if the body does not end within `ms`. */
export function discardBody(request: IncomingMessage, ms: number = discardTimeoutMs): void {
  request.resume();
  const timer = setTimeout(() => request.destroy(), ms).unref();
  request.once('close', () => clearTimeout(timer));
}

const createParser = (request: IncomingMessage): Dicer => {
  const { boundary } = parseContentType(request.headers['content-type'] ?? '').parameters;
  if (!boundary) return refuseInvalid('the Content-Type of a multipart body names no boundary');
  // The types of the package omit `maxHeaderSize`.
  const config = { boundary, maxHeaderPairs: 32, maxHeaderSize: 16 * 1024 };
  return new Dicer(config);
};

/** The headers of a part, with the bytes of their values as Latin-1. */
type PartHeaders = Partial<Record<string, string[]>>;

/** The names of parts with a file: `files`, and what other clients and services use. */
const filePartName = /^files?(?:\d{1,3}|\[\d{0,3}\])?$/;

/**
 * Writes `\"`, with which some clients escape a quote in a file name, as `%22`, as browsers do. A backslash before the quote that ends the value stays: browsers
 * do not escape backslashes.
 */
const unescapeQuotes = (disposition: string): string => disposition.replace(/\\"(?!\s*(?:$|;\s*[\w-]+\*?=))/g, '%22');

/** What a part says of itself: its name, its file name, its media type and character set. Refuses a part that is not form data, or whose headers are not UTF-8. */
function describePart(headers: PartHeaders): Record<'name' | 'filename' | 'charset', string | undefined> & { type: string } {
  const valueOf = (name: string): string => decodeText(Buffer.from(headers[name]?.[0] ?? '', 'latin1'), undefined, 'a part header');
  const disposition = unescapeQuotes(valueOf('content-disposition'));
  const { type, parameters } = parseDisposition(disposition, { multipart: true });
  if (type !== 'form-data' || /[\r\n]/.test(disposition)) refuseInvalid('a part has no valid Content-Disposition with form-data');
  const media = parseContentType(valueOf('content-type') || 'text/plain');
  return { name: parameters.name, filename: parameters.filename, type: media.type, charset: media.parameters.charset };
}

/**
 * Reads a `multipart/form-data` body: at most 10 parts `files` (or `file`, `file1`, `files[0]`), which are written to local files as they arrive, and one part `payload_json`, in any order
 * (docs/behavior/messages.md#files). Only a few chunks are in memory at a time. Refuses invalid bodies, other parts and an eleventh file (400), and a file over
 * 10 MiB (413), as soon as it sees them. Rejects when `options.bodyFailed` does. The rest of the body is then read and discarded, so that the sender sees the
 * answer.
 */
export async function readUpload(request: IncomingMessage, options: UploadOptions): Promise<Upload> {
  const parser = createParser(request);
  const files: Promise<ReceivedFile>[] = [];
  const parts: Readable[] = [];
  const fields: Promise<unknown>[] = [];
  let fail: (error: unknown) => void = () => undefined;
  const bodyFailed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const receivePart = async (part: Readable, filename: string | undefined, type: string): Promise<ReceivedFile> => {
    const path = await options.tempPath();
    const contentType = mediaType.test(type) ? type : 'application/octet-stream';
    return { path, filename: cleanFilename(filename), contentType, ...(await receiveFile(part, path)) };
  };
  let describedParts = 0;
  const handlePart = (part: Readable, headers: PartHeaders): void => {
    const { name, filename, type, charset } = describePart(headers);
    if (name !== undefined && filePartName.test(name)) {
      if (files.length === limits.filesPerMessage) refuseInvalid(`a message has at most ${limits.filesPerMessage} files`);
      options.beforeFile();
      files.push(receivePart(part, filename, type));
      files.at(-1)?.catch(fail);
    } else if (name === 'payload_json') {
      if (fields.length) refuseInvalid('there is more than one part payload_json');
      fields.push(readJsonPart(part, charset));
      fields[0]?.catch(fail);
    } else refuseInvalid('the name of each part must be payload_json or files (or file, file1, files[0] and so on)');
  };
  parser.on('part', (part) => {
    part.on('error', () => undefined);
    parts.push(part);
    // A part whose headers cannot be read emits no event.
    part.on('header', (headers) => {
      describedParts++;
      try {
        handlePart(part, headers);
      } catch (error) {
        fail(error);
      }
    });
  });
  try {
    options.bodyFailed.catch(fail);
    await pipeBody(request, parser, bodyFailed);
    if (describedParts !== parts.length) refuseInvalid('the headers of a part cannot be read');
    const [value = {}] = await Promise.all(fields);
    return { fields: value, files: await Promise.all(files) };
  } catch (error) {
    for (const part of parts) part.destroy(new Error('the body was refused'));
    discardBody(request);
    await Promise.allSettled(files);
    throw error;
  }
}

/**
 * Checks, before any of a body with files is read, that the caller may post. The function that it returns is called before each file is read, and refuses
 * callers who may post but may not attach files. `hasIdempotencyKey`: the request may repeat an earlier post.
 */
type CheckUpload<P> = (platform: ApiPlatform, actor: Actor, params: P, hasIdempotencyKey: boolean) => Promise<() => void>;

/** The body is JSON that matches `schema`, or `multipart/form-data` with that JSON in the part `payload_json`, and files. */
export function upload<S extends TSchema, P>(
  schema: S,
  check: CheckUpload<P>,
): BodyReader<{ fields: Static<S>; files: readonly ReceivedFile[] }, P> {
  const isForm = (ctx: Context): boolean => hasBody(ctx) && ctx.is('multipart/form-data') !== false;
  return {
    kind: 'upload',
    schema,
    isOptional: false,
    isCountedBySize: (ctx) => !isForm(ctx),
    read: async ({ ctx, platform, slots, actor, params, address }) => {
      if (!actor || !isForm(ctx)) {
        const fields = await readJson(ctx, false, 'application/json or multipart/form-data');
        checkFields(ctx, schema, fields);
        return { value: { fields: fields as Static<S>, files: [] }, fingerprint: fields, paths: [] };
      }
      const beforeFile = await check(platform, actor, params, ctx.get('Idempotency-Key') !== '');
      return withLocalFiles(platform, async (tempPath) => {
        const { fields, files } = await slots.uploads.run(ctx.req, toUploadLimits(actor.id, address), (bodyFailed) =>
          readUpload(ctx.req, { tempPath, beforeFile, bodyFailed }),
        );
        checkFields(ctx, schema, fields);
        const fileFingerprints = files.map(({ sha256, filename, contentType }) => ({ sha256, filename, contentType }));
        return { value: { fields: fields as Static<S>, files }, fingerprint: files.length ? { fields, files: fileFingerprints } : fields };
      });
    },
  };
}
