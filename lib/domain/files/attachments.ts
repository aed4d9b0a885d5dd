import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { failpoint } from '../../base/failpoint.ts';
import { webpFilename } from '../../base/filenames.ts';
import { limits } from '../../base/limits.ts';
import { sniffImage, toPlainFileType } from '../../base/magic.ts';
import { isIsoMedia, removeMetadata } from '../../base/metadata.ts';
import { isUnavailable } from '../../store/mongo/database.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { FilesPlatform } from '../../store/platform.ts';
import { toStoredAttachment, updateAttachment } from './attachment-updates.ts';
import { decideFiles, deleteLateBlobs, refsFilter } from './files.ts';
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

const isWaiting = ({ state }: FileDoc): boolean => state === 'waiting';

/** Makes the document of an uploaded file. An image waits for its conversion, with the filename and type that it will most likely have afterwards. */
function newFileDoc(platform: FilesPlatform, owner: Uploader, file: ReceivedFile, now: Date): FileDoc {
  const { filename, contentType, size, head, megapixels } = file;
  const format = sniffImage(head);
  const { serverId, ...ownerFields } = owner;
  const charge = { accountId: owner.accountId, serverId, bytes: size };
  const base = { _id: platform.ids.next(), key: newFileKey(), blob: newFileKey(), ...ownerFields, charge, size, width: null, height: null };
  const timestamps = { openAt: now, createdAt: now };
  if (!format) {
    return { ...base, filename, contentType: toPlainFileType(contentType), state: 'stored', ...timestamps };
  }
  const uploadedAs = { filename, contentType: `image/${format}` };
  const expected = format === 'gif' ? uploadedAs : { filename: webpFilename(filename), contentType: 'image/webp' };
  return { ...base, original: newFileKey(), ...expected, uploadedAs, megapixels, state: 'waiting', ...timestamps };
}

/**
 * Stores files of one account before the message or profile that will show them is written. Documents are inserted before blobs are written, so that every blob
 * has a document. Refuses with `images_waiting` or `storage_full` before anything is stored.
 */
export async function storeFiles(platform: FilesPlatform, docs: readonly FileDoc[], files: readonly ReceivedFile[]): Promise<void> {
  const images = docs.filter(isWaiting);
  const costs = images.map(({ megapixels = 1 }) => megapixels);
  const priorities = await reserveConversions(platform, docs[0]?.accountId ?? '', costs);
  await chargeStorage(platform, docs);
  await platform.db.files.insertMany(docs);
  failpoint(platform.config, 'after-file-write');
  // One at a time, because each is in memory as a whole. The metadata of images are removed with their conversion, which needs some of them.
  for (const { head, path } of files)
    if (!sniffImage(head) && isIsoMedia(head)) await writeFile(path, removeMetadata(await readFile(path)));
  const puts = await Promise.allSettled(
    docs.map((doc, at) =>
      platform.blobs.put(doc.original ?? doc.blob, files[at]?.path ?? '', doc.uploadedAs?.contentType ?? doc.contentType),
    ),
  );
  const failed = puts.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
  failpoint(platform.config, 'after-blob-write');
  images.forEach(({ _id: fileId }, at) => platform.jobs.tryEnqueue('convert-image', { fileId }, { priority: priorities[at] }));
}

/** Reads `docs` again, in the same order. A deleted one is returned with the state `freed`, so that nobody waits for it. */
async function reloadFiles({ db }: FilesPlatform, docs: readonly FileDoc[]): Promise<FileDoc[]> {
  const found: FileDoc[] = await db.files.find(refsFilter(docs)).toArray();
  const byId = new Map(found.map((doc) => [doc._id, doc]));
  return docs.map((doc) => byId.get(doc._id) ?? { ...doc, state: 'freed' as const });
}

/** Waits until the images among `docs` are converted, for at most 10 s, and returns the documents as they are then (docs/behavior/messages.md#images). */
export async function waitForConversions(platform: FilesPlatform, docs: readonly FileDoc[]): Promise<FileDoc[]> {
  const deadline = performance.now() + limits.imageWaitMs;
  let current = [...docs];
  for (let ms = 25; current.some(isWaiting) && performance.now() < deadline; ms = Math.min(200, ms * 1.3)) {
    await pause(ms);
    current = await reloadFiles(platform, current);
  }
  return current;
}

/** Deletes the files of a post whose message was not stored, or was stored by an earlier call. Those of a message that was inserted before the error stay. */
const discardFiles = (platform: FilesPlatform, docs: readonly FileDoc[]): Promise<void> =>
  deleteLateBlobs(platform, docs)
    .then(async () => decideFiles(platform, await reloadFiles(platform, docs))) // reads the message
    .catch((error: unknown) => platform.log.warn({ err: error }, 'files could not be removed; the sweep will remove them'));

/** Discards the files of a post that failed with `error`. While the database is unavailable, it is unknown whether the message was inserted: the sweep decides. */
export async function discardPostFiles(platform: FilesPlatform, docs: readonly FileDoc[], error: unknown): Promise<void> {
  if (docs.length > 0 && !isUnavailable(error)) await discardFiles(platform, docs);
}

/**
 * Stores the files of a post and waits for their images. Until the message is stored, they belong to `owner.messageId`. The post is then finished by
 * `finishPostFiles`, or by `discardPostFiles`. If the process dies meanwhile, the sweep keeps or deletes the files, depending on whether the message exists.
 */
export async function storePostFiles(platform: FilesPlatform, owner: Uploader, files: readonly ReceivedFile[]): Promise<FileDoc[]> {
  if (files.length === 0) return [];
  const now = new Date(platform.now());
  const docs = files.map((file) => newFileDoc(platform, owner, file, now));
  try {
    await storeFiles(platform, docs, files);
    return await waitForConversions(platform, docs);
  } catch (error) {
    await discardPostFiles(platform, docs, error);
    throw error;
  }
}

/** Ends a post with files: returns its message with the attachments as they are now, and deletes the files if the message is that of an earlier call. */
export async function finishPostFiles(platform: FilesPlatform, docs: readonly FileDoc[], message: MessageDoc): Promise<MessageDoc> {
  if (docs.length === 0) return message;
  failpoint(platform.config, 'after-message-write');
  if (message.attachments.some(({ id }) => id === docs[0]?._id)) return finishPost(platform, message, docs).catch(() => message);
  await discardFiles(platform, docs);
  return message;
}

/**
 * Completes a post after its message was inserted. Clears `openAt` of its files, unless a concurrent delete has set it again. Updates attachments that got
 * their final form during the insert. Removes attachments whose files were swept because this process was paused for a long time.
 */
async function finishPost(platform: FilesPlatform, message: MessageDoc, docs: readonly FileDoc[]): Promise<MessageDoc> {
  const { files, messages } = platform.db;
  const [first] = docs;
  const { matchedCount } = await files.updateMany({ ...refsFilter(docs), openAt: first?.createdAt as Date }, { $unset: { openAt: 1 } });
  if (matchedCount < docs.length) {
    const deletedIds = await deleteLateBlobs(platform, docs);
    if (deletedIds.length) {
      await messages.updateOne({ _id: message._id, channelId: message.channelId }, { $pull: { attachments: { id: { $in: deletedIds } } } });
      const remaining = docs.filter(({ _id }) => !deletedIds.includes(_id));
      return { ...message, attachments: (await reloadFiles(platform, remaining)).map(toStoredAttachment) };
    }
  }
  if (!docs.some(isWaiting)) return message;
  const current = await reloadFiles(platform, docs);
  const convertedFiles = current.filter((doc, at) => doc.state === 'stored' && docs[at]?.state === 'waiting');
  for (const file of convertedFiles) await updateAttachment(platform, file);
  return { ...message, attachments: current.map(toStoredAttachment) };
}
