import { PassThrough } from 'node:stream';
import type { Context } from 'koa';
import { Refusal, refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import type { ReceivedFile } from '../../../lib/domain/files/attachments.ts';
import { hasBody } from './body.ts';
import { drain, feed, takeFile } from './upload.ts';

/** The accepted content types of avatars and icons (docs/behavior/accounts.md#pictures). */
export const pictureTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;

const bound = { bytes: limits.pictureBytes, limit: '2 MiB' };

/**
 * Writes a body that is one image to the local file `path`. The caller deletes that file, also after a failure. Refuses another type (415), more than 2 MiB
 * (413), and a body that is missing or ends early (400). Rejects when `failed` does. The rest of a refused body is read and discarded, so that the sender sees
 * the answer.
 */
export async function readPicture(ctx: Context, path: string, failed: Promise<never>): Promise<ReceivedFile> {
  const { req } = ctx;
  try {
    if (!hasBody(ctx)) refuse('invalid_request', { reason: 'the body must be an image' });
    const contentType = ctx.is([...pictureTypes]);
    if (typeof contentType !== 'string') return refuse('unsupported_media_type', { expected: pictureTypes.join(', ') });
    if (Number(ctx.get('Content-Length') || 0) > bound.bytes) refuse('payload_too_large', { limit: bound.limit });
    const body = new PassThrough();
    const taking = takeFile(body, path, bound);
    const refused = new Promise<never>((_, reject) => void taking.catch(reject));
    await feed(req, body, Promise.race([refused, failed])).catch(async (error: unknown) => {
      body.destroy(new Error('the body was refused'));
      // A refusal by `takeFile` ends `body`, and `feed` may report only that. Throw the refusal itself.
      await taking.catch((refusal: unknown) => {
        if (refusal instanceof Refusal) throw refusal;
      });
      throw error;
    });
    return { path, filename: '', contentType, ...(await taking) };
  } catch (error) {
    drain(req);
    throw error;
  }
}
