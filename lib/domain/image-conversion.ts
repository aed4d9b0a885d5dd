import { failpoint } from '../base/failpoint.ts';
import { limits } from '../base/limits.ts';
import { type ImageFormat, plainType } from '../base/magic.ts';
import { bookkeeping, trusted } from '../store/database.ts';
import type { FileDoc } from '../store/models/file.ts';
import type { EnqueuePlatform, WorkerPlatform } from '../store/platform.ts';
import { showStoredFile } from './attachment-updates.ts';
import { dropFiles, unheld } from './files.ts';
import { nudgeConversions } from './image-queue.ts';

/**
 * What an image became. `webp`: it stands converted at the path asked for; `kept`: it moves, and stays as it is; `plain`: it cannot be shown as an image,
 * `why` for the log. `size` in bytes and the sides in pixels are those of the file as it will be served.
 */
export type ConvertedImage =
  | { outcome: 'webp'; size: number; width: number; height: number }
  | { outcome: 'kept'; format: ImageFormat; size: number; width: number; height: number }
  | { outcome: 'plain'; why: string; size: number };

/**
 * Converts the local image `from` to a new local file `to`, which is there afterwards only for `webp`; `from` is deleted in any case. With `side`, in pixels, it
 * becomes the square of that side that its middle fills, the first picture of one that moves. Rejects only for what is no fault of the image, and may be tried
 * again.
 */
export type EncodeImage = (from: string, to: string, side?: number) => Promise<ConvertedImage>;

/** A file with the mark that its conversion is not at its end. */
type Marked = FileDoc & { original: string };

const waiting = { state: 'waiting', original: trusted({ $exists: true }) } as const;

/**
 * Converts the image of one file to its final form: WebP, or as it was uploaded (docs/behavior/messages.md#images). Then its message shows it, and the blob
 * that is no longer needed is deleted. Repeated and concurrent runs change nothing. Rejects if the blob store or the encoder is away; the file keeps waiting.
 */
export async function convertImage(platform: WorkerPlatform, fileId: string, encode: EncodeImage): Promise<void> {
  const { files } = platform.db;
  // A count that a crash of the database takes back is one too low: one more try.
  const file: FileDoc | null = await files
    .findOneAndUpdate({ _id: fileId, ...waiting }, { $inc: { begun: 1 } }, { ...bookkeeping, returnDocument: 'after' })
    .lean();
  const done = file?.original === undefined ? null : await convert(platform, file as Marked, encode);
  const left: FileDoc | null = done ?? (await files.findOne({ _id: fileId, original: trusted({ $exists: true }) }).lean());
  if (left?.original !== undefined) await finish(platform, left as Marked);
}

/** Answers the file in its final form; null when another worker was first, or the file was deleted: what was made in vain is not left behind. */
async function convert(platform: WorkerPlatform, file: Marked, encode: EncodeImage): Promise<FileDoc | null> {
  const { files } = platform.db;
  try {
    const image = await imageOf(platform, file, encode);
    if (image.outcome === 'plain') platform.log.info({ fileId: file._id, why: image.why }, 'an image stays a plain file');
    const final = { $set: finalForm(file, image), $unset: { uploadedAs: 1, megapixels: 1, begun: 1 } };
    const done: FileDoc | null = await files.findOneAndUpdate({ _id: file._id, ...waiting }, final, { returnDocument: 'after' }).lean();
    if (!done && image.outcome === 'webp') await deleteUnheld(platform, file.blob);
    failpoint(platform.config, 'after-image-stored');
    return done;
  } catch (error) {
    // One that was deleted keeps its count until the next run: its WebP may have been written all the same.
    await files.updateOne({ _id: file._id, ...waiting, begun: trusted({ $gt: 0 }) }, { $inc: { begun: -1 } }, bookkeeping);
    throw error;
  }
}

/** The image of `file`, its WebP in the blob store. One that ended its worker too often is not tried again. Rejects when its upload is not there. */
async function imageOf({ blobs, config }: WorkerPlatform, file: Marked, encode: EncodeImage): Promise<ConvertedImage> {
  if ((file.begun ?? 0) > limits.imageAttempts) return { outcome: 'plain', why: 'it ends its worker', size: file.size };
  const from = await blobs.fetch(file.original);
  if (from === null) throw new Error('the uploaded image is not in the blob store');
  const to = await blobs.tempPath();
  const image = await (file.picture ? encode(from, to, limits.pictureSide) : encode(from, to));
  failpoint(config, 'after-image-encode');
  if (image.outcome === 'webp') await blobs.put(file.blob, to, 'image/webp');
  failpoint(config, 'after-image-put');
  return image;
}

/** The fields of a file whose image is done. What stays as uploaded changes the names of its two blobs: `original` is then the one that goes. */
function finalForm({ blob, original, filename, uploadedAs }: Marked, image: ConvertedImage): Partial<FileDoc> {
  const { size } = image;
  const [width, height] = image.outcome === 'plain' ? [null, null] : [image.width, image.height];
  if (image.outcome === 'webp') return { state: 'stored', size, width, height, contentType: 'image/webp' };
  const contentType = image.outcome === 'kept' ? `image/${image.format}` : plainType(uploadedAs?.contentType);
  const uploaded = { blob: original, original: blob, filename: uploadedAs?.filename ?? filename };
  return { state: 'stored', size, width, height, contentType, ...uploaded };
}

/** Deletes a blob unless a file, such as a copy, holds it. */
async function deleteUnheld(platform: WorkerPlatform, name: string): Promise<void> {
  for (const unused of await unheld(platform, [name])) await platform.blobs.delete(unused);
}

/**
 * What follows once a file has its final form, its mark being `original`: the message shows it, the blob that is not served goes, and the mark last. A file
 * that was deleted meanwhile goes once no worker writes its blob any more: each run ends one, its own or one that died.
 */
async function finish(platform: WorkerPlatform, file: Marked): Promise<void> {
  const { files } = platform.db;
  const { _id, state, original } = file;
  if (state === 'freed') {
    await files.updateOne({ _id, state, begun: trusted({ $gt: 0 }) }, { $inc: { begun: -1 } });
    return dropFiles(platform, [_id]);
  }
  if (state === 'waiting') return;
  await Promise.all([showStoredFile(platform, file), deleteUnheld(platform, original)]);
  failpoint(platform.config, 'after-original-delete');
  await files.updateOne({ _id, state, original }, { $unset: { original: 1 } }, bookkeeping);
}

/** How old a file is when the sweep takes it, in milliseconds; and how many one sweep takes. */
const sweepAfterMs = 30_000;
const sweepMax = 200;

/** Nudges the images that wait for more than 30 s, and those of which a blob is still to be deleted: their job was lost, or the blob store was away. */
export async function sweepImages(platform: EnqueuePlatform): Promise<void> {
  const before = new Date(platform.now() - sweepAfterMs);
  const left = await platform.db.files
    .find({ original: trusted({ $exists: true }), createdAt: trusted({ $lt: before }) })
    .sort({ createdAt: 1 })
    .limit(sweepMax)
    .lean();
  // What is on the queue already keeps its place there.
  const isLost = async ({ _id: fileId }: FileDoc): Promise<boolean> => !(await platform.isQueued('convert-image', { fileId }));
  const lost = await Promise.all((left as FileDoc[]).map(async (file) => ((await isLost(file)) ? [file] : [])));
  await nudgeConversions(platform, lost.flat());
}
