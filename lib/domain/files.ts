import { groupBy } from '../base/group-by.ts';
import { trusted } from '../store/database.ts';
import type { FileDoc } from '../store/models/file.ts';
import type { MessageDoc } from '../store/models/message.ts';
import type { FilesPlatform } from '../store/platform.ts';
import { shownPictures } from './shown-pictures.ts';
import { releaseStorage } from './storage.ts';

/** Blobs deleted at once, files dropped in one round, and messages looked at by one sweep. */
const deletesAtOnce = 8;
const batch = 200;
const sweepMessages = 500;

/** After how long a file whose fate is open is looked at, in milliseconds: no upload lasts that long (a request has 120 s). */
const openMs = 15 * 60_000;

/** The blobs among `names` that no file holds any more: neither to serve nor to be converted from. */
export async function unheld({ db }: FilesPlatform, names: readonly string[]): Promise<string[]> {
  const [holding, converting]: FileDoc[][] = await Promise.all([
    db.files.find({ blob: trusted({ $in: names }), state: trusted({ $ne: 'freed' as const }) }).lean(),
    db.files.find({ original: trusted({ $in: names }), state: 'waiting' }).lean(),
  ]);
  const held = new Set([...(holding ?? []).map(({ blob }) => blob), ...(converting ?? []).map(({ original }) => original)]);
  return names.filter((name) => !held.has(name));
}

const blobsOf = ({ blob, original }: Pick<FileDoc, 'blob' | 'original'>): string[] => (original ? [blob, original] : [blob]);

/**
 * Deletes the blobs of those among `files` that were taken, as their fate was open for too long, while their blobs were still being written; answers their
 * ids.
 */
export async function dropLateBlobs(platform: FilesPlatform, files: readonly FileDoc[]): Promise<string[]> {
  const ids = files.map(({ _id }) => _id);
  const found = await platform.db.files.find({ _id: trusted({ $in: ids }), state: trusted({ $ne: 'freed' as const }) }, { _id: 1 }).lean();
  const left = new Set(found.map(({ _id }) => _id));
  const taken = files.filter(({ _id }) => !left.has(_id));
  if (taken.length) for (const name of await unheld(platform, taken.flatMap(blobsOf))) await platform.blobs.delete(name);
  return taken.map(({ _id }) => _id);
}

/**
 * Deletes files: each gives up its blob first, then the blob goes unless another file holds it, then the document. As a blob is judged only after it was given
 * up, and a copy looks for its source only after it stands, no order of events loses the bytes of a copy or leaves bytes that nobody holds. What a crash
 * leaves is a document, which the sweep finds. Deleting again changes nothing. With `open` only those whose fate is still open, so that none goes of which a
 * message came to say that it has it.
 */
export async function dropFiles(platform: FilesPlatform, fileIds: readonly string[], which: 'all' | 'open' = 'all'): Promise<void> {
  if (fileIds.length === 0) return;
  const { files } = platform.db;
  const these = { _id: trusted({ $in: fileIds }) };
  const open = which === 'open' ? { openAt: trusted({ $exists: true }) } : {};
  await files.updateMany({ ...these, ...open }, { $set: { state: 'freed', openAt: new Date(platform.now()) } });
  const freed: FileDoc[] = await files.find({ ...these, state: 'freed' }).lean();
  const names = await unheld(platform, [...new Set(freed.flatMap(blobsOf))]);
  const deleteNext = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) await platform.blobs.delete(name);
  };
  await Promise.all(Array.from({ length: deletesAtOnce }, deleteNext));
  for (const file of freed) await releaseStorage(platform, file);
  // One that a worker may be converting stands until that ends: the worker may yet write its blob, and then deletes both.
  await files.deleteMany({ ...these, state: 'freed', begun: trusted({ $in: [null, 0] }) } as object);
}

/** Says that the fate of a message's files is open, because it is about to be deleted. Called before the delete, so that none is forgotten. */
export async function openFiles(platform: FilesPlatform, messageId: string): Promise<void> {
  await platform.db.files.updateMany({ messageId }, { $set: { openAt: new Date(platform.now()) } });
}

/** Says that these files have their message, unless their fate was opened again since. */
async function closeFiles({ db }: FilesPlatform, files: readonly FileDoc[]): Promise<void> {
  for (const [moment, same] of groupBy(files, ({ openAt }) => openAt?.getTime() ?? 0)) {
    const ids = same.map(({ _id }) => _id);
    await db.files.updateMany({ _id: trusted({ $in: ids }), openAt: new Date(moment) }, { $unset: { openAt: 1 } });
  }
}

/**
 * Decides about files whose fate is open: one that its message holds, or that is shown as a picture, stays; any other is deleted. `files` are as they were read
 * before this looks at the messages.
 */
export async function decideFiles(platform: FilesPlatform, files: readonly FileDoc[]): Promise<void> {
  if (files.length === 0) return;
  const messageIds = [...new Set(files.map(({ messageId }) => messageId))];
  const standing = await platform.db.messages
    .find({ _id: trusted({ $in: messageIds }), deleted: trusted({ $exists: false }) }, { attachments: 1 })
    .lean();
  const attached = (standing as Pick<MessageDoc, 'attachments'>[]).flatMap(({ attachments }) => attachments.map(({ id }) => id));
  const held = new Set([...attached, ...(await shownPictures(platform, files))]);
  const stays = (file: FileDoc): boolean => file.state !== 'freed' && held.has(file._id);
  await closeFiles(platform, files.filter(stays));
  await dropFiles(
    platform,
    files.filter((file) => !stays(file)).map(({ _id }) => _id),
    'open',
  );
}

/** Decides about the files of a message whose fate is open: after its delete, and from the sweep. Running it again changes nothing. */
export async function settleFiles(platform: FilesPlatform, messageId: string): Promise<void> {
  await decideFiles(platform, await platform.db.files.find({ messageId, openAt: trusted({ $exists: true }) }).lean());
}

/** Deletes every file of a channel that is gone, some at a time. Running it again goes on where it ended. `goingOn` is told before each batch. */
export async function removeChannelFiles(platform: FilesPlatform, channelId: string, goingOn?: () => Promise<unknown>): Promise<void> {
  for (;;) {
    await goingOn?.();
    const found = await platform.db.files.find({ channelId }, { _id: 1 }).sort({ _id: 1 }).limit(batch).lean();
    await dropFiles(
      platform,
      found.map(({ _id }) => _id),
    );
    if (found.length < batch) return;
  }
}

/** Deletes the local files on this machine that nobody wrote to for 15 minutes: those of processes that died. */
export const sweepLocalFiles = (platform: FilesPlatform): Promise<void> => platform.blobs.sweepTemp(openMs);

/**
 * Decides about the files whose fate has been open for 15 minutes: what a process left that died between a file and its message, or between a delete and its
 * files. Younger ones may belong to an upload that goes on. Deletes the local files of dead processes too.
 */
export async function sweepFiles(platform: FilesPlatform): Promise<void> {
  const before = new Date(platform.now() - openMs);
  for (;;) {
    const found: FileDoc[] = await platform.db.files
      .find({ openAt: trusted({ $lt: before }) })
      .sort({ openAt: 1 })
      .limit(sweepMessages)
      .lean();
    await decideFiles(platform, found);
    if (found.length < sweepMessages) break;
  }
  await sweepLocalFiles(platform);
}
