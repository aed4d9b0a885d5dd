import type { Context } from 'koa';
import { limits } from '../../lib/base/limits.ts';
import { checkFit } from '../../lib/contract/check.ts';
import type { ReceivedFile } from '../../lib/domain/attachments.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { hasBody, readBody } from './middleware/body.ts';
import { createTakeDelivery, type TakeDelivery } from './middleware/delivery.ts';
import type { Identified } from './middleware/identify.ts';
import { readPicture } from './middleware/picture.ts';
import { createSlotPool, type Share, type SlotPool } from './middleware/slot-pool.ts';
import { readUpload, removeLocal } from './middleware/upload.ts';
import type { Route } from './route.ts';

/** What a request brought. */
export interface Intake {
  body: unknown;
  files: readonly ReceivedFile[];
  /** What makes two bodies the same: their fields, and the bytes, names and types of their files; never how they were sent. */
  identity: unknown;
  /** Deletes the local files that are left. */
  discard: () => Promise<void>;
}

/** What bounds how many large bodies a process takes in at once. */
export interface Places {
  uploads: SlotPool;
  takeDelivery: TakeDelivery;
}

/** The slots of one process. */
export const createPlaces = (): Places => ({
  uploads: createSlotPool({ waitMs: limits.uploadWaitMs }),
  takeDelivery: createTakeDelivery(),
});

/** The bounds that an upload counts in while its body comes: each may take 100 MiB of the local disk. */
const uploadSharesOf = (accountId: string, address: string): Share[] => [
  { key: `account:${accountId}`, most: limits.uploadsPerCaller, spare: 0 },
  { key: `address:${address}`, most: limits.uploadsPerAddress, spare: 6 },
  { key: 'all', most: limits.uploadsAtOnce, spare: 8 },
];

const plain = (body: unknown): Intake => ({ body, files: [], identity: body, discard: () => Promise.resolve() });

/** Takes a multipart body in. Who may not post is refused before any of it is read, and nothing of a refused one stays on the disk. */
async function takeUpload(ctx: Context, platform: ApiPlatform, beforeFile: () => void, failed: Promise<never>): Promise<Intake> {
  const paths: string[] = [];
  const tempPath = async (): Promise<string> => {
    const path = await platform.blobs.tempPath();
    paths.push(path);
    return path;
  };
  const discard = (): Promise<void> => removeLocal(paths);
  try {
    const { fields, files } = await readUpload(ctx.req, { tempPath, beforeFile, failed });
    const bytes = files.map(({ sha256, filename, contentType }) => ({ sha256, filename, contentType }));
    return { body: fields, files, identity: files.length ? { fields, files: bytes } : fields, discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

/**
 * Takes a body in that is one image. Who may not send it is refused before any of it is read, and nothing of a refused one stays on the
 * disk.
 */
async function takePicture(ctx: Context, platform: ApiPlatform, failed: Promise<never>): Promise<Intake> {
  const path = await platform.blobs.tempPath();
  const discard = (): Promise<void> => removeLocal([path]);
  try {
    const file = await readPicture(ctx, path, failed);
    return { body: undefined, files: [file], identity: file.sha256, discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

/**
 * The body of a request, checked against the route's schema, and its files. The caller discards what is left of them when the request is
 * done.
 */
export async function takeBody(
  ctx: Context,
  platform: ApiPlatform,
  route: Route,
  who: Identified,
  params: Record<string, string>,
  { uploads, takeDelivery }: Places,
): Promise<Intake> {
  if (route.takesDelivery)
    return plain(await takeDelivery(ctx, { webhookId: params.webhook_id ?? '', serverId: who.pathServerId ?? '', address: who.address }));
  if (route.admitPicture && who.actor) {
    await route.admitPicture(platform, who.actor, params);
    return uploads.run(ctx.req, uploadSharesOf(who.actor.id, who.address), (failed) => takePicture(ctx, platform, failed));
  }
  if (!route.body) return plain(undefined);
  if (route.admitUpload && who.actor && hasBody(ctx) && ctx.is('multipart/form-data')) {
    const beforeFile = await route.admitUpload(platform, who.actor, params, ctx.get('Idempotency-Key') !== '');
    const shares = uploadSharesOf(who.actor.id, who.address);
    const taken = await uploads.run(ctx.req, shares, (failed) => takeUpload(ctx, platform, beforeFile, failed));
    try {
      checkFit(route.body, taken.body, 'body');
    } catch (error) {
      await taken.discard();
      throw error;
    }
    return taken;
  }
  const body = await readBody(ctx, route.bodyOptional === true, route.admitUpload ? 'application/json or multipart/form-data' : undefined);
  if (!(body === undefined && route.bodyOptional)) checkFit(route.body, body, 'body');
  return plain(body);
}
