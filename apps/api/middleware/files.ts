import { create as createDisposition } from 'content-disposition';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import parseRange from 'range-parser';
import { readClientAddress } from '../../../lib/base/client-address.ts';
import { Refusal, refuse } from '../../../lib/base/errors.ts';
import { fileKeyChars, getServedType, isShownInline, requireServableFile } from '../../../lib/domain/files/file-reads.ts';
import type { ByteRange } from '../../../lib/store/files/store.ts';
import type { FileDoc } from '../../../lib/store/mongo/models/file.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { matchesEtag } from '../etag.ts';
import { type AddressCharges, maxRemembered } from '../limits/address-charges.ts';
import type { State } from '../state.ts';
import { isPageRequest } from './pages.ts';

/** Headers of every answer with a file: it never changes, so it is cached for a year, it cannot run scripts, and pages of other origins may embed it. */
const fileHeaders = {
  'Accept-Ranges': 'bytes',
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

const toEtag = (file: FileDoc): string => `"${file._id}"`;

/** The requested byte range; null for the whole file. A request for several ranges, or with an `If-Range` that does not match, also gets the whole file. */
function readRange(ctx: Context, file: FileDoc): ByteRange | 'unsatisfiable' | null {
  const rangeHeader = ctx.get('Range');
  const condition = ctx.get('If-Range');
  if (rangeHeader === '' || (condition !== '' && condition !== toEtag(file))) return null;
  // A suffix longer than the file means the whole file (RFC 9110), but the parser reports it as unsatisfiable.
  const clampedHeader = rangeHeader.replace(
    /^bytes=-(\d+)$/,
    (_, suffixLength: string) => `bytes=-${Math.min(Number(suffixLength), file.size)}`,
  );
  const ranges = parseRange(file.size, clampedHeader, { combine: true });
  if (ranges === -1) return 'unsatisfiable';
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return null;
  return ranges[0] ?? null;
}

/** Sets the headers that describe the file. They must not be on an error. */
const setFileHeaders = (ctx: Context, file: FileDoc): void => {
  ctx.set('Content-Type', getServedType(file));
  ctx.set('Content-Disposition', createDisposition(file.filename, { type: isShownInline(file) ? 'inline' : 'attachment' }));
  ctx.set('ETag', toEtag(file));
  ctx.set(fileHeaders);
};

function sendUnsatisfiable(ctx: Context, size: number): void {
  ctx.status = 416;
  ctx.set('Content-Range', `bytes */${size}`);
  ctx.body = '';
}

async function sendFile(ctx: Context, platform: ApiPlatform, file: FileDoc): Promise<void> {
  if (matchesEtag(ctx, toEtag(file))) {
    setFileHeaders(ctx, file);
    ctx.status = 304;
    return;
  }
  const range = readRange(ctx, file);
  if (range === 'unsatisfiable') return sendUnsatisfiable(ctx, file.size);
  const size = range ? range.end - range.start + 1 : file.size;
  const blob = ctx.method === 'HEAD' ? null : await platform.blobs.open(file.blob, range ?? undefined);
  if (!blob && ctx.method !== 'HEAD') refuse('not_found', { what: 'file' });
  // The stream is the body before anything can throw, so that it is closed also if something does.
  if (blob) ctx.body = blob.stream;
  ctx.status = range ? 206 : 200;
  if (range) ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${file.size}`);
  ctx.set('Content-Length', String(size));
  setFileHeaders(ctx, file);
}

/**
 * Serves `GET /files/{key}/{filename}`. Only the key selects the file; the name has no effect (docs/behavior/messages.md#serving-files). The route has no
 * rate limit for those who have a key, because a page of messages shows many files. An unknown key is charged to the address, and remembered for 10 s.
 */
export function serveFiles(platform: ApiPlatform, charges: AddressCharges): Middleware<State> {
  const unknownKeys = new LRUCache<string, true>({ max: maxRemembered, ttl: 10_000 });
  const requireFile = async (ctx: Context, key: string, segments: number): Promise<FileDoc> => {
    const address = readClientAddress(ctx.req, platform.config.TRUST_PROXY);
    try {
      if (segments !== 1 || unknownKeys.has(key)) return refuse('not_found', { what: 'file' });
      await charges.requireRoom(ctx, address, key);
      const file = await requireServableFile(platform, key);
      charges.confirm(key);
      return file;
    } catch (error) {
      if (error instanceof Refusal && error.code === 'not_found') {
        if (segments === 1 && key.length === fileKeyChars) unknownKeys.set(key, true);
        await charges.chargeWrong(ctx, address);
      }
      throw error;
    }
  };
  return async (ctx, next) => {
    const [, firstSegment, key = '', ...rest] = ctx.path.split('/');
    if (firstSegment !== 'files') return next();
    ctx.state.route = '/files/{key}/{filename}';
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') refuse('method_not_allowed', { allowed: 'GET' }, { allow: ['GET'] });
    try {
      return await sendFile(ctx, platform, await requireFile(ctx, key, rest.length));
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'not_found' || !isPageRequest(ctx)) throw error;
      // Somebody followed a link to a file that is gone.
      ctx.state.isMissingFile = true;
      return next();
    }
  };
}
