import { groupBy } from '../../base/group-by.ts';
import { isBackupRunning } from '../../store/mongo/backup-lease.ts';
import { sweepDue } from '../../store/mongo/due.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { MessageDoc, StoredAttachment } from '../../store/mongo/models/message.ts';
import type { FilesPlatform } from '../../store/platform.ts';
import { findShownPictures } from './shown-pictures.ts';
import { releaseStorage } from './storage.ts';

/** How many blobs are deleted at once, how many files of a channel are deleted in one round, and how many files the sweep reads in one round. */
const deletesAtOnce = 8;
const batchSize = 200;

/** How long a file is undecided (`openAt`) before the sweep decides about it, in milliseconds. No upload takes that long, because a request has 120 s. */
const undecidedMaxMs = 15 * 60_000;

/** The blobs among `names` that no file uses any more, neither to serve it nor to convert it. */
export async function findUnusedBlobs({ db }: FilesPlatform, names: readonly string[]): Promise<string[]> {
  const [serving, converting]: FileDoc[][] = await Promise.all([
    db.files.find({ blob: { $in: names }, state: { $ne: 'freed' as const } }).toArray(),
    db.files.find({ original: { $in: names }, state: 'waiting' }).toArray(),
  ]);
  const used = new Set([...(serving ?? []).map(({ blob }) => blob), ...(converting ?? []).map(({ original }) => original)]);
  return names.filter((name) => !used.has(name));
}

/** What addresses a file in the database: `key` says on which shard it is (docs/scaling.md#a-sharded-mongodb). */
export type FileRef = Pick<FileDoc, '_id' | 'key'>;

/** The filter of these files. */
export const refsFilter = (files: readonly FileRef[]): { _id: { $in: string[] }; key: { $in: string[] } } => ({
  _id: { $in: files.map(({ _id }) => _id) },
  key: { $in: files.map(({ key }) => key) },
});

const blobsOf = ({ blob, original }: Pick<FileDoc, 'blob' | 'original'>): string[] => (original ? [blob, original] : [blob]);

/**
 * Deletes the blobs of those `files` that the sweep deleted while their blobs were still being written, because they were undecided for too long. Returns the
 * ids of these files.
 */
export async function deleteLateBlobs(platform: FilesPlatform, files: readonly FileDoc[]): Promise<string[]> {
  const found = await platform.db.files.find(refsFilter(files), { projection: { state: 1 } }).toArray();
  const stateById = new Map(found.map(({ _id, state }) => [_id, state]));
  const deletedFiles = files.filter(({ _id }) => (stateById.get(_id) ?? 'freed') === 'freed');
  if (deletedFiles.length) {
    // While a backup runs, the sweep deletes the blobs of those that still have a document.
    const isKept = await isBackupRunning(platform.db);
    const late = deletedFiles.filter(({ _id }) => !isKept || !stateById.has(_id));
    for (const name of await findUnusedBlobs(platform, late.flatMap(blobsOf))) await platform.blobs.delete(name);
  }
  return deletedFiles.map(({ _id }) => _id);
}

/**
 * Deletes files in three steps: marks the file as `freed`, deletes its blob unless another file uses it, then deletes the document. A blob is checked only
 * after its file was freed, and a copy checks its source only after the copy was inserted. So in no order of events a copy loses its bytes, or bytes stay that
 * no file uses. A crash leaves a document, which the sweep finds. Deleting again changes nothing. With `undecided`, only files that are still undecided are
 * deleted, so that a file stays if its message claimed it meanwhile. While a backup runs, only the first step is done, and the sweep does the others later.
 */
export async function deleteFiles(platform: FilesPlatform, refs: readonly FileRef[], which: 'all' | 'undecided' = 'all'): Promise<void> {
  if (refs.length === 0) return;
  const { files } = platform.db;
  const filter = refsFilter(refs);
  const undecidedFilter = which === 'undecided' ? { openAt: { $exists: true } } : {};
  await files.updateMany(
    { ...filter, ...undecidedFilter },
    { $set: { state: 'freed', openAt: new Date(platform.now()) } },
    { hint: '_id_' },
  );
  if (await isBackupRunning(platform.db)) return;
  const freed: FileDoc[] = await files.find({ ...filter, state: 'freed' }).toArray();
  const names = await findUnusedBlobs(platform, [...new Set(freed.flatMap(blobsOf))]);
  const deleteNext = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) await platform.blobs.delete(name);
  };
  await Promise.all(Array.from({ length: deletesAtOnce }, deleteNext));
  for (const file of freed) await releaseStorage(platform, file);
  // The document of a file that a worker may be converting stays until the conversion ends: the worker may still write its blob, and then deletes both.
  await files.deleteMany({ ...filter, state: 'freed', begun: { $in: [null, 0] } } as object);
}

/** Marks these attachments of a message as undecided. Called before the message is deleted, so that a crash leaves no file behind. */
export async function markFilesUndecided({ db, now }: FilesPlatform, attachments: readonly StoredAttachment[]): Promise<void> {
  const refs = attachments.map(({ id, key }) => ({ _id: id, key }));
  if (refs.length > 0) await db.files.updateMany(refsFilter(refs), { $set: { openAt: new Date(now()) } });
}

/** Marks these files as decided, unless they were marked as undecided again since they were read. */
async function markFilesDecided({ db }: FilesPlatform, files: readonly FileDoc[]): Promise<void> {
  for (const [openAtMs, same] of groupBy(files, ({ openAt }) => openAt?.getTime() ?? 0)) {
    await db.files.updateMany({ ...refsFilter(same), openAt: new Date(openAtMs) }, { $unset: { openAt: 1 } });
  }
}

/**
 * Decides about undecided files (`openAt`): a file that its message has as an attachment, or that is shown as an avatar or icon, stays; any other is deleted.
 * `files` must be read before the call, because this reads the messages.
 */
export async function decideFiles(platform: FilesPlatform, files: readonly FileDoc[]): Promise<void> {
  if (files.length === 0) return;
  const messageIds = [...new Set(files.map(({ messageId }) => messageId))];
  const channelIds = [...new Set(files.map(({ channelId }) => channelId))];
  const messages = await platform.db.messages
    .find({ channelId: { $in: channelIds }, _id: { $in: messageIds }, deleted: { $exists: false } }, { projection: { attachments: 1 } })
    .toArray();
  const attached = (messages as Pick<MessageDoc, 'attachments'>[]).flatMap(({ attachments }) => attachments.map(({ id }) => id));
  const usedIds = new Set([...attached, ...(await findShownPictures(platform, files))]);
  const isUsed = (file: FileDoc): boolean => file.state !== 'freed' && usedIds.has(file._id);
  await markFilesDecided(platform, files.filter(isUsed));
  await deleteFiles(
    platform,
    files.filter((file) => !isUsed(file)),
    'undecided',
  );
}

/** Decides about the undecided files of a message after its delete. Running it again changes nothing. */
export async function decideMessageFiles(platform: FilesPlatform, messageId: string): Promise<void> {
  await decideFiles(platform, await platform.db.files.find({ messageId, openAt: { $exists: true } }, { hint: 'messageId_1' }).toArray());
}

/** Deletes all files of a deleted channel in batches. A repeated run continues where the last one ended. `reportProgress` is called before each batch. */
export async function removeChannelFiles(
  platform: FilesPlatform,
  channelId: string,
  reportProgress?: () => Promise<unknown>,
): Promise<void> {
  for (let after = ''; ; ) {
    await reportProgress?.();
    const found = await platform.db.files
      .find({ channelId, _id: { $gt: after } }, { projection: { key: 1 } })
      .sort({ _id: 1 })
      .limit(batchSize)
      .toArray();
    await deleteFiles(platform, found);
    after = found.at(-1)?._id ?? after;
    if (found.length < batchSize) return;
  }
}

/** Deletes the local files on this machine that nothing has written to for 15 minutes: they belong to processes that died. */
export const sweepLocalFiles = (platform: FilesPlatform): Promise<void> => platform.blobs.removeOldTemp(undecidedMaxMs);

/**
 * Decides about the files that have been undecided for 15 minutes. A process left them that died between storing a file and its message, or between deleting a
 * message and its files. Younger ones may belong to a running upload.
 */
export const sweepFiles = sweepDue({
  collection: 'files',
  due: 'openAt',
  afterMs: undecidedMaxMs,
  max: 500,
  takesAll: true,
  run: decideFiles,
});
