import { rm } from 'node:fs/promises';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { type ImageFormat, toPlainFileType } from '../../base/magic.ts';
import { copyWithoutMetadata } from '../../base/metadata.ts';
import { isBackupRunning } from '../../store/mongo/backup-lease.ts';
import { relaxedWriteConcern } from '../../store/mongo/database.ts';
import { sweepDue } from '../../store/mongo/due.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { EnqueuePlatform, WorkerPlatform } from '../../store/platform.ts';
import { updateAttachment } from './attachment-updates.ts';
import { deleteFiles, findUnusedBlobs } from './files.ts';
import { enqueueConversions } from './image-queue.ts';

/**
 * The result of a conversion. `webp`: converted. `kept`: animated, stays as uploaded but for its metadata. `plain`: cannot be shown as an image; `reason` is for
 * the log. `size` (bytes), `width` and `height` (pixels) are those of the file that will be served.
 */
export type ConvertedImage =
  | { outcome: 'webp'; size: number; width: number; height: number }
  | { outcome: 'kept'; format: ImageFormat; size: number; width: number; height: number }
  | { outcome: 'plain'; reason: string; size: number };

/**
 * Converts the local image `from` to a new local file `to`: WebP, or the upload without its metadata. `from` is always deleted. With `side`, in pixels, the
 * result is a square of that side, cropped from the center; of an animated image it shows the first frame. Rejects only for errors that the image did not
 * cause, so the call can be repeated.
 */
export type EncodeImage = (from: string, to: string, side?: number) => Promise<ConvertedImage>;

/** A file whose conversion is not complete: it still has `original`. */
type PendingImage = FileDoc & { original: string };

const waiting = { state: 'waiting', original: { $exists: true } } as const;

/**
 * Converts the image of one file to its final form: WebP, or the upload without its metadata (docs/behavior/messages.md#images). Then updates its message and
 * deletes the blob that is no longer needed. Repeated and concurrent runs change nothing. Rejects if the blob store or the encoder is unavailable; the file then
 * keeps waiting.
 */
export async function convertImage(platform: WorkerPlatform, fileId: string, encode: EncodeImage): Promise<void> {
  const { files } = platform.db;
  // If a crash of the database loses this increment, the image gets one more attempt.
  const file: FileDoc | null = await files.findOneAndUpdate(
    { _id: fileId, ...waiting },
    { $inc: { begun: 1 } },
    { ...relaxedWriteConcern, returnDocument: 'after' },
  );
  const converted = file?.original === undefined ? null : await runConversion(platform, file as PendingImage, encode);
  const pending: FileDoc | null = converted ?? (await files.findOne({ _id: fileId, original: { $exists: true } }));
  if (pending?.original !== undefined) await finishConversion(platform, pending as PendingImage);
}

/** Returns the file in its final form, or null if another worker was first or the file was deleted. A blob that is then not needed is deleted. */
async function runConversion(platform: WorkerPlatform, file: PendingImage, encode: EncodeImage): Promise<FileDoc | null> {
  const { files } = platform.db;
  try {
    const image = await encodeImage(platform, file, encode);
    if (image.outcome === 'plain')
      platform.log.info({ fileId: file._id, reason: image.reason }, 'could not convert an image; it is served as a plain file');
    const update = { $set: toConvertedFields(file, image), $unset: { uploadedAs: 1, megapixels: 1, begun: 1 } } as const;
    const converted: FileDoc | null = await files.findOneAndUpdate({ _id: file._id, key: file.key, ...waiting }, update, {
      returnDocument: 'after',
    });
    if (!converted) await deleteIfUnused(platform, image.outcome === 'webp' ? file.blob : file.original);
    failpoint(platform.config, 'after-image-stored');
    return converted;
  } catch (error) {
    // A deleted file keeps its count until the next run, because its WebP may have been written nevertheless.
    await files.updateOne({ _id: file._id, key: file.key, ...waiting, begun: { $gt: 0 } }, { $inc: { begun: -1 } }, relaxedWriteConcern);
    throw error;
  }
}

/**
 * Converts the image of `file` and puts the WebP into the blob store, or replaces the uploaded blob by one without metadata. After 5 attempts that ended their
 * worker (`imageAttempts`) the image is not tried again. Rejects if the uploaded blob is missing.
 */
async function encodeImage({ blobs, config }: WorkerPlatform, file: PendingImage, encode: EncodeImage): Promise<ConvertedImage> {
  const from = await blobs.fetch(file.original);
  if (from === null) throw new Error('the uploaded image is not in the blob store');
  const to = await blobs.newTempPath();
  const image = await ((file.begun ?? 0) > limits.imageAttempts
    ? giveUp(from, to)
    : encode(from, to, ...(file.picture ? [limits.pictureSide] : [])));
  failpoint(config, 'after-image-encode');
  if (image.outcome === 'webp') await blobs.put(file.blob, to, 'image/webp');
  // Under the same name, because every worker that comes to this result has the same bytes, and one that converts the image reads either.
  else await blobs.put(file.original, to, file.uploadedAs?.contentType ?? file.contentType);
  failpoint(config, 'after-image-put');
  return image;
}

/** The result for an image that is not tried again. */
async function giveUp(from: string, to: string): Promise<ConvertedImage> {
  const size = await copyWithoutMetadata(from, to);
  await rm(from, { force: true });
  return { outcome: 'plain', reason: 'every attempt ended the worker', size };
}

/** The fields of a converted file. If the image stays as uploaded, its two blobs swap names: `original` is then the unused one, to be deleted. */
function toConvertedFields({ blob, original, filename, uploadedAs }: PendingImage, image: ConvertedImage): Partial<FileDoc> {
  const { size } = image;
  const [width, height] = image.outcome === 'plain' ? [null, null] : [image.width, image.height];
  if (image.outcome === 'webp') return { state: 'stored', size, width, height, contentType: 'image/webp' };
  const contentType = image.outcome === 'kept' ? `image/${image.format}` : toPlainFileType(uploadedAs?.contentType);
  const uploaded = { blob: original, original: blob, filename: uploadedAs?.filename ?? filename };
  return { state: 'stored', size, width, height, contentType, ...uploaded };
}

/** Deletes a blob unless a file, such as a copy, still uses it. Returns false, and deletes nothing, while a backup runs. */
async function deleteIfUnused(platform: WorkerPlatform, name: string): Promise<boolean> {
  if (await isBackupRunning(platform.db)) return false;
  for (const unused of await findUnusedBlobs(platform, [name])) await platform.blobs.delete(unused);
  return true;
}

/**
 * Completes a file in its final form: updates the message, deletes the unused blob, and removes `original` last. A file that was deleted meanwhile (`freed`) is
 * deleted once no worker can still write its blob: each run decrements `begun` once, for itself or for a worker that died.
 */
async function finishConversion(platform: WorkerPlatform, file: PendingImage): Promise<void> {
  const { files } = platform.db;
  const { _id, key, state, original } = file;
  if (state === 'freed') {
    await files.updateOne({ _id, key, state, begun: { $gt: 0 } }, { $inc: { begun: -1 } });
    return deleteFiles(platform, [file]);
  }
  if (state === 'waiting') return;
  const [isDeleted] = await Promise.all([deleteIfUnused(platform, original), updateAttachment(platform, file)]);
  if (!isDeleted) return; // the sweep tries again
  failpoint(platform.config, 'after-original-delete');
  await files.updateOne({ _id, key, state, original }, { $unset: { original: 1 } }, relaxedWriteConcern);
}

/**
 * Enqueues the conversion again for images that have waited for more than 30 s, and for files with a blob still to be deleted: their job was lost, or the blob
 * store was unavailable.
 */
export const sweepImages = sweepDue({
  collection: 'files',
  due: 'createdAt',
  afterMs: 30_000,
  where: { original: { $exists: true } },
  max: 200,
  async run(platform: EnqueuePlatform, found) {
    // A file that is still on the queue keeps its position there.
    const isLost = async ({ _id: fileId }: FileDoc): Promise<boolean> => !(await platform.jobs.isQueued('convert-image', { fileId }));
    const lost = await Promise.all(found.map(async (file) => ((await isLost(file)) ? [file] : [])));
    await enqueueConversions(platform, lost.flat());
  },
});
