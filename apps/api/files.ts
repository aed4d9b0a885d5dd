import contentDisposition from 'content-disposition';
import type { Context, Middleware } from 'koa';
import parseRange from 'range-parser';
import { refuse } from '../../lib/base/errors.ts';
import { servedFile, shownInline } from '../../lib/domain/files/file-reads.ts';
import type { ByteRange } from '../../lib/store/files/store.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { namesTag } from './etag.ts';
import type { State } from './state.ts';

/** Headers of every answer with a file: it never changes, so it is cached for a year, it cannot run scripts, and pages of other origins may embed it. */
const headers = {
  'Accept-Ranges': 'bytes',
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

const etagOf = (file: FileDoc): string => `"${file._id}"`;

/** The requested byte range; null for the whole file. A request for several ranges, or with an `If-Range` that does not match, also gets the whole file. */
function rangeOf(ctx: Context, file: FileDoc): ByteRange | 'unsatisfiable' | null {
  const asked = ctx.get('Range');
  const condition = ctx.get('If-Range');
  if (asked === '' || (condition !== '' && condition !== etagOf(file))) return null;
  // A suffix longer than the file means the whole file (RFC 9110), but the parser reports it as unsatisfiable.
  const fitting = asked.replace(/^bytes=-(\d+)$/, (_, last: string) => `bytes=-${Math.min(Number(last), file.size)}`);
  const ranges = parseRange(file.size, fitting, { combine: true });
  if (ranges === -1) return 'unsatisfiable';
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return null;
  return ranges[0] ?? null;
}

/** Sets the headers that describe the file. They must not be on an error. */
const describe = (ctx: Context, file: FileDoc): void => {
  ctx.set(headers);
  ctx.set('ETag', etagOf(file));
  ctx.set('Content-Type', file.contentType);
  ctx.set('Content-Disposition', contentDisposition(file.filename, { type: shownInline(file) ? 'inline' : 'attachment' }));
};

function sendUnsatisfiable(ctx: Context, size: number): void {
  ctx.status = 416;
  ctx.set('Content-Range', `bytes */${size}`);
  ctx.body = '';
}

async function send(ctx: Context, platform: ApiPlatform, file: FileDoc): Promise<void> {
  if (namesTag(ctx, etagOf(file))) {
    describe(ctx, file);
    ctx.status = 304;
    return;
  }
  const range = rangeOf(ctx, file);
  if (range === 'unsatisfiable') return sendUnsatisfiable(ctx, file.size);
  const size = range ? range.end - range.start + 1 : file.size;
  const blob = ctx.method === 'HEAD' ? null : await platform.blobs.open(file.blob, range ?? undefined);
  if (!blob && ctx.method !== 'HEAD') refuse('not_found', { what: 'file' });
  describe(ctx, file);
  ctx.status = range ? 206 : 200;
  if (range) ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${file.size}`);
  if (blob) ctx.body = blob.stream;
  ctx.set('Content-Length', String(size));
}

/**
 * Serves `GET /files/{key}/{filename}`. Only the key selects the file; the name has no effect (docs/behavior/messages.md#serving-files). The route has no
 * rate limit, because a page of messages shows many files and a caller without a key gets none.
 */
export function serveFiles(platform: ApiPlatform): Middleware<State> {
  return async (ctx, next) => {
    const [, first, key = '', ...rest] = ctx.path.split('/');
    if (first !== 'files') return next();
    ctx.state.route = '/files/{key}/{filename}';
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') refuse('method_not_allowed', { allowed: 'GET' }, { allow: ['GET'] });
    if (rest.length !== 1) refuse('not_found', { what: 'file' });
    return send(ctx, platform, await servedFile(platform, key));
  };
}
