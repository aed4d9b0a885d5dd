import type { Context } from 'koa';
import type { TSchema } from 'typebox';
import { limits } from '../../lib/base/limits.ts';
import { requireValid } from '../../lib/contract/check.ts';
import type { ReceivedFile } from '../../lib/domain/files/attachments.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { hasBody, readBody } from './middleware/body.ts';
import { createDeliveryReader, type ReadDelivery } from './middleware/delivery.ts';
import type { IdentifiedRequest } from './middleware/identify.ts';
import { readPicture } from './middleware/picture.ts';
import { createSlotPool, type SlotLimit, type SlotPool } from './middleware/slot-pool.ts';
import { readUpload, removeLocalFiles } from './middleware/upload.ts';
import type { Route } from './route.ts';
import { warnOfFields } from './warnings.ts';

/** The body and files of a request. */
export interface RequestBody {
  body: unknown;
  files: readonly ReceivedFile[];
  /** Two bodies with equal `fingerprint` count as the same: the fields, and the hash, name and type of each file. The encoding of the body has no effect. */
  fingerprint: unknown;
  /** Deletes the local files that still exist. */
  discardFiles: () => Promise<void>;
}

/** The limiters of how many large bodies one process reads at once. */
export interface BodyLimiters {
  uploadSlots: SlotPool;
  readDelivery: ReadDelivery;
}

/** Creates the limiters of one process. */
export const createBodyLimiters = (): BodyLimiters => ({
  uploadSlots: createSlotPool({ waitMs: limits.uploadWaitMs }),
  readDelivery: createDeliveryReader(),
});

/** The limits that an upload counts against while its body is read. Each upload may take 100 MiB of the local disk. */
const toUploadLimits = (accountId: string, address: string): SlotLimit[] => [
  { key: `account:${accountId}`, max: limits.uploadsPerCaller, reserved: 0 },
  { key: `address:${address}`, max: limits.uploadsPerAddress, reserved: 6 },
  { key: 'all', max: limits.uploadsAtOnce, reserved: 8 },
];

const withoutFiles = (body: unknown): RequestBody => ({ body, files: [], fingerprint: body, discardFiles: () => Promise.resolve() });

/** Refuses a body with errors, and warns of its unknown fields in any case. */
function checkBody(ctx: Context, schema: TSchema, { findErrors }: Route, body: unknown): void {
  warnOfFields(ctx, schema, body);
  requireValid(schema, body, 'body', findErrors);
}

/** Reads a multipart body. If it is refused, all its local files are deleted. The caller has checked that the sender may post. */
async function readUploadBody(
  ctx: Context,
  platform: ApiPlatform,
  beforeFile: () => void,
  bodyFailed: Promise<never>,
): Promise<RequestBody> {
  const paths: string[] = [];
  const tempPath = async (): Promise<string> => {
    const path = await platform.blobs.newTempPath();
    paths.push(path);
    return path;
  };
  const discardFiles = (): Promise<void> => removeLocalFiles(paths);
  try {
    const { fields, files } = await readUpload(ctx.req, { tempPath, beforeFile, bodyFailed });
    const fileFingerprints = files.map(({ sha256, filename, contentType }) => ({ sha256, filename, contentType }));
    return { body: fields, files, fingerprint: files.length ? { fields, files: fileFingerprints } : fields, discardFiles };
  } catch (error) {
    await discardFiles();
    throw error;
  }
}

/**
 * Reads a body that is one image. If it is refused, its local file is deleted. The caller has checked that the sender may send it.
 */
async function readPictureBody(ctx: Context, platform: ApiPlatform, paceFailed: Promise<never>): Promise<RequestBody> {
  const path = await platform.blobs.newTempPath();
  const discardFiles = (): Promise<void> => removeLocalFiles([path]);
  try {
    const file = await readPicture(ctx, path, paceFailed);
    return { body: undefined, files: [file], fingerprint: file.sha256, discardFiles };
  } catch (error) {
    await discardFiles();
    throw error;
  }
}

/**
 * Reads the body of a request and its files, and checks the body against the route's schema. Senders without permission are refused before an upload is read.
 * The caller calls `discardFiles` when the request has ended.
 */
export async function readRequestBody(
  ctx: Context,
  platform: ApiPlatform,
  route: Route,
  identified: IdentifiedRequest,
  params: Record<string, string>,
  { uploadSlots, readDelivery }: BodyLimiters,
): Promise<RequestBody> {
  if (route.isDelivery)
    return withoutFiles(
      await readDelivery(ctx, { webhookId: params.webhookId ?? '', serverId: identified.pathServerId ?? '', address: identified.address }),
    );
  if (route.checkPicture && identified.actor) {
    await route.checkPicture(platform, identified.actor, params);
    return uploadSlots.run(ctx.req, toUploadLimits(identified.actor.id, identified.address), (paceFailed) =>
      readPictureBody(ctx, platform, paceFailed),
    );
  }
  if (!route.body) return withoutFiles(undefined);
  if (route.checkUpload && identified.actor && hasBody(ctx) && ctx.is('multipart/form-data')) {
    const beforeFile = await route.checkUpload(platform, identified.actor, params, ctx.get('Idempotency-Key') !== '');
    const slotLimits = toUploadLimits(identified.actor.id, identified.address);
    const upload = await uploadSlots.run(ctx.req, slotLimits, (paceFailed) => readUploadBody(ctx, platform, beforeFile, paceFailed));
    try {
      checkBody(ctx, route.body, route, upload.body);
    } catch (error) {
      await upload.discardFiles();
      throw error;
    }
    return upload;
  }
  const body = await readBody(
    ctx,
    route.isBodyOptional === true,
    route.checkUpload ? 'application/json or multipart/form-data' : undefined,
  );
  if (!(body === undefined && route.isBodyOptional)) checkBody(ctx, route.body, route, body);
  return withoutFiles(body);
}
