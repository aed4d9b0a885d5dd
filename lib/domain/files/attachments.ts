import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { failpoint } from '../../base/failpoint.ts';
import { webpFilename } from '../../base/filenames.ts';
import { limits } from '../../base/limits.ts';
import { plainType, sniffImage } from '../../base/magic.ts';
import { isUnavailable, trusted } from '../../store/mongo/database.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { MessageDoc, StoredAttachment } from '../../store/mongo/models/message.ts';
import type { FilesPlatform } from '../../store/platform.ts';
import { attachmentOfFile, showStoredFile } from './attachment-updates.ts';
import { decideFiles, dropLateBlobs } from './files.ts';
import { reserveConversions } from './image-queue.ts';
import { chargeStorage } from './storage.ts';

/** An uploaded file, still stored as a local file. */
export interface ReceivedFile {
  /** The path of the local file, which is deleted when the file is stored. */
  path: string;
  /** The cleaned filename. */
  filename: string;
  /** The declared media type; it is well-formed. */
  contentType: string;
  size: number;
  /** The SHA-256 of its bytes, in hex. */
  sha256: string;
  /** Its first `magicBytes` bytes. */
  head: Buffer;
  /** The cost of its conversion in megapixels if it is an image, read from its first bytes. */
  megapixels: number;
}

/** The message that files are attached to, or will be. */
export interface FileOwner {
  messageId: string;
  channelId: string;
}

/** The message, and the account that uploads its files. */
export interface Uploader extends FileOwner {
  accountId: string;
  /** null in a direct message. */
  serverId: string | null;
}

/** Makes a name for a blob, or a key for a file: 128 random bits in hex. */
export const newFileKey = (): string => randomBytes(16).toString('hex');

const waits = ({ state }: FileDoc): boolean => state === 'waiting';

/** Makes the document of an uploaded file. An image waits for its conversion, with the filename and type that it will most likely have afterwards. */
function documentOf(platform: FilesPlatform, owner: Uploader, file: ReceivedFile, now: Date): FileDoc {
  const { filename, contentType, size, head, megapixels } = file;
  const format = sniffImage(head);
  const { serverId, ...held } = owner;
  const charge = { accountId: owner.accountId, serverId, bytes: size };
  const base = { _id: platform.ids.next(), key: newFileKey(), blob: newFileKey(), ...held, charge, size, width: null, height: null };
  const moments = { openAt: now, createdAt: now };
  if (!format) {
    return { ...base, filename, contentType: plainType(contentType), state: 'stored', ...moments };
  }
  const uploadedAs = { filename, contentType: `image/${format}` };
  const expected = format === 'gif' ? uploadedAs : { filename: webpFilename(filename), contentType: 'image/webp' };
  return { ...base, original: newFileKey(), ...expected, uploadedAs, megapixels, state: 'waiting', ...moments };
}

/**
 * Stores files of one account before the message or profile that will show them is written. Documents are inserted before blobs are written, so that every blob
 * has a document. Refuses with `images_waiting` or `storage_full` before anything is stored.
 */
export async function storeBlobs(platform: FilesPlatform, docs: readonly FileDoc[], files: readonly ReceivedFile[]): Promise<void> {
  const images = docs.filter(waits);
  const costs = images.map(({ megapixels = 1 }) => megapixels);
  const priorities = await reserveConversions(platform, docs[0]?.accountId ?? '', costs);
  await chargeStorage(platform, docs);
  await platform.db.files.collection.insertMany(docs as never[]);
  failpoint(platform.config, 'after-file-write');
  const puts = await Promise.allSettled(
    docs.map((doc, at) =>
      platform.blobs.put(doc.original ?? doc.blob, files[at]?.path ?? '', doc.uploadedAs?.contentType ?? doc.contentType),
    ),
  );
  const failed = puts.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
  failpoint(platform.config, 'after-blob-write');
  images.forEach(({ _id: fileId }, at) => platform.nudge('convert-image', { fileId }, priorities[at]));
}

/** Reads `docs` again, in the same order. A deleted one is returned with the state `freed`, so that nobody waits for it. */
async function asTheyStand({ db }: FilesPlatform, docs: readonly FileDoc[]): Promise<FileDoc[]> {
  const ids = docs.map(({ _id }) => _id);
  const found: FileDoc[] = await db.files.find({ _id: trusted({ $in: ids }) }).lean();
  const byId = new Map(found.map((doc) => [doc._id, doc]));
  return docs.map((doc) => byId.get(doc._id) ?? { ...doc, state: 'freed' as const });
}

/** Waits until the images among `docs` are converted, for at most 10 s, and returns the documents as they are then (docs/behavior/messages.md#images). */
export async function converted(platform: FilesPlatform, docs: readonly FileDoc[]): Promise<FileDoc[]> {
  const until = performance.now() + limits.imageWaitMs;
  let now = [...docs];
  for (let ms = 25; now.some(waits) && performance.now() < until; ms = Math.min(200, ms * 1.3)) {
    await pause(ms);
    now = await asTheyStand(platform, now);
  }
  return now;
}

/**
 * Posts a message with `files`: stores them, waits for their images, and passes their attachments to `post`, which inserts the message and returns the stored
 * message. Until then the files belong to `owner.messageId`; `post` calls `prepare` with the message's own id before the insert. If `post` fails, or returns a
 * message of an earlier call, the files are deleted. If the process dies meanwhile, the sweep keeps or deletes the files, depending on whether the message
 * exists.
 */
export async function postWithFiles(
  platform: FilesPlatform,
  owner: Uploader,
  files: readonly ReceivedFile[],
  post: (attachments: StoredAttachment[], prepare?: (messageId: string) => Promise<unknown>) => Promise<MessageDoc>,
): Promise<MessageDoc> {
  if (files.length === 0) return post([]);
  const now = new Date(platform.now());
  const docs = files.map((file) => documentOf(platform, owner, file, now));
  // `decideFiles` reads the message: if it was inserted before the error, it keeps its files.
  const discard = (): Promise<void> =>
    dropLateBlobs(platform, docs)
      .then(async () => decideFiles(platform, await asTheyStand(platform, docs)))
      .catch((error: unknown) => platform.log.warn({ err: error }, 'files could not be removed; the sweep will remove them'));
  try {
    await storeBlobs(platform, docs, files);
    const ready = await converted(platform, docs);
    const prepare = (messageId: string) =>
      platform.db.files.updateMany({ _id: trusted({ $in: docs.map(({ _id }) => _id) }) }, { $set: { messageId } });
    const message = await post(ready.map(attachmentOfFile), prepare);
    failpoint(platform.config, 'after-message-write');
    if (!message.attachments.some(({ id }) => id === docs[0]?._id)) {
      await discard();
      return message;
    }
    return await settlePosted(platform, message, ready).catch(() => message);
  } catch (error) {
    // While the database is unavailable, it is unknown whether the message was inserted: the sweep decides.
    const unsure = isUnavailable(error) && (error as Error).name !== 'BlobsUnavailable';
    if (!unsure) await discard();
    throw error;
  }
}

/**
 * Completes a post after its message was inserted. Clears `openAt` of its files, unless a concurrent delete has set it again. Updates attachments that got
 * their final form during the insert. Removes attachments whose files were swept because this process was paused for a long time.
 */
async function settlePosted(platform: FilesPlatform, message: MessageDoc, docs: readonly FileDoc[]): Promise<MessageDoc> {
  const { files, messages } = platform.db;
  const ids = docs.map(({ _id }) => _id);
  const [first] = docs;
  const { matchedCount } = await files.updateMany(
    { _id: trusted({ $in: ids }), openAt: first?.createdAt as Date },
    { $unset: { openAt: 1 } },
  );
  if (matchedCount < docs.length) {
    const gone = await dropLateBlobs(platform, docs);
    if (gone.length) {
      await messages.collection.updateOne({ _id: message._id as never }, { $pull: { attachments: { id: { $in: gone } } } } as never);
      const left = docs.filter(({ _id }) => !gone.includes(_id));
      return { ...message, attachments: (await asTheyStand(platform, left)).map(attachmentOfFile) };
    }
  }
  if (!docs.some(waits)) return message;
  const now = await asTheyStand(platform, docs);
  const finished = now.filter((doc, at) => doc.state === 'stored' && docs[at]?.state === 'waiting');
  for (const file of finished) await showStoredFile(platform, file);
  return { ...message, attachments: now.map(attachmentOfFile) };
}
