import { PassThrough } from 'node:stream';
import type { Context } from 'koa';
import { Refusal, refuse } from '../../../lib/base/errors.ts';
import { formatMib, limits } from '../../../lib/base/limits.ts';
import type { Actor } from '../../../lib/domain/access/checks.ts';
import type { ReceivedFile } from '../../../lib/domain/files/attachments.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { hasBody } from './json.ts';
import { type BodyReader, toUploadLimits, withLocalFiles } from './reader.ts';
import { discardBody, pipeBody, receiveFile } from './upload.ts';

/** The accepted content types of avatars and icons (docs/behavior/accounts.md#pictures). */
export const pictureTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;

const pictureLimit = { bytes: limits.pictureBytes, text: formatMib(limits.pictureBytes) };

/**
 * Writes a body that is one image to the local file `path`. The caller deletes that file, also after a failure. Refuses another type (415), more than 2 MiB
 * (413), and a body that is missing or ends early (400). Rejects when `paceFailed` does. The rest of a refused body is read and discarded, so that the sender
 * sees the answer.
 */
async function readPicture(ctx: Context, path: string, paceFailed: Promise<never>): Promise<ReceivedFile> {
  const { req } = ctx;
  try {
    if (!hasBody(ctx)) refuse('invalid_request', { reason: 'the body must be an image' });
    const contentType = ctx.is([...pictureTypes]);
    if (typeof contentType !== 'string') return refuse('unsupported_media_type', { expected: pictureTypes.join(', ') });
    if (Number(ctx.get('Content-Length') || 0) > pictureLimit.bytes) refuse('payload_too_large', { limit: pictureLimit.text });
    const body = new PassThrough();
    const receiving = receiveFile(body, path, pictureLimit);
    const refused = new Promise<never>((_, reject) => void receiving.catch(reject));
    await pipeBody(req, body, Promise.race([refused, paceFailed])).catch(async (error: unknown) => {
      body.destroy(new Error('the body was refused'));
      // A refusal by `receiveFile` ends `body`, and `pipeBody` may report only that. Throw the refusal itself.
      await receiving.catch((refusal: unknown) => {
        if (refusal instanceof Refusal) throw refusal;
      });
      throw error;
    });
    return { path, filename: '', contentType, ...(await receiving) };
  } catch (error) {
    discardBody(req);
    throw error;
  }
}

/**
 * The body is one image. `check` is called before any of it is read, and refuses callers who may not send it. A route with such a body has `auth` other than
 * `none`.
 */
export const picture = <P>(check: (platform: ApiPlatform, actor: Actor, params: P) => unknown): BodyReader<ReceivedFile, P> => ({
  kind: 'picture',
  schema: null,
  isOptional: false,
  isCountedBySize: () => false,
  read: async ({ ctx, platform, slots, actor, params, address }) => {
    if (!actor) return refuse('unauthorized', { hint: 'Only accounts can send images' });
    await check(platform, actor, params);
    return withLocalFiles(platform, async (newPath) => {
      const value = await slots.uploads.run(ctx.req, toUploadLimits(actor.id, address), async (paceFailed) =>
        readPicture(ctx, await newPath(), paceFailed),
      );
      return { value, fingerprint: value.sha256 };
    });
  },
});
