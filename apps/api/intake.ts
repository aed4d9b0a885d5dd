import type { Context } from 'koa';
import { limits } from '../../lib/base/limits.ts';
import { checkFit } from '../../lib/contract/check.ts';
import type { ReceivedFile } from '../../lib/domain/files/attachments.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { hasBody, readBody } from './middleware/body.ts';
import { createTakeDelivery, type TakeDelivery } from './middleware/delivery.ts';
import type { Identified } from './middleware/identify.ts';
import { readPicture } from './middleware/picture.ts';
import { createSlotPool, type Share, type SlotPool } from './middleware/slot-pool.ts';
import { readUpload, removeLocal } from './middleware/upload.ts';
import type { Route } from './route.ts';

/** The body and files of a request. */
export interface Intake {
  body: unknown;
  files: readonly ReceivedFile[];
  /** Two bodies with equal `identity` count as the same: the fields, and the hash, name and type of each file. The encoding of the body has no effect. */
  identity: unknown;
  /** Deletes the local files that still exist. */
  discard: () => Promise<void>;
}

/** The limiters of how many large bodies one process reads at once. */
export interface Places {
  uploads: SlotPool;
  takeDelivery: TakeDelivery;
}

/** Creates the limiters of one process. */
export const createPlaces = (): Places => ({
  uploads: createSlotPool({ waitMs: limits.uploadWaitMs }),
  takeDelivery: createTakeDelivery(),
});

/** The limits that an upload counts against while its body is read. Each upload may take 100 MiB of the local disk. */
const uploadSharesOf = (accountId: string, address: string): Share[] => [
  { key: `account:${accountId}`, most: limits.uploadsPerCaller, spare: 0 },
  { key: `address:${address}`, most: limits.uploadsPerAddress, spare: 6 },
  { key: 'all', most: limits.uploadsAtOnce, spare: 8 },
];

const plain = (body: unknown): Intake => ({ body, files: [], identity: body, discard: () => Promise.resolve() });

/** Reads a multipart body. If it is refused, all its local files are deleted. The caller has checked that the sender may post. */
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
 * Reads a body that is one image. If it is refused, its local file is deleted. The caller has checked that the sender may send it.
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
 * Reads the body of a request and its files, and checks the body against the route's schema. Senders without permission are refused before an upload is read.
 * The caller calls `discard` when the request has ended.
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
