import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { MessageDoc, StoredAttachment } from '../../store/mongo/models/message.ts';
import type { FilesPlatform } from '../../store/platform.ts';
import { toStoredAttachment } from './attachment-updates.ts';
import { type FileOwner, newFileKey } from './attachments.ts';
import { decideFiles, deleteFiles, refsFilter } from './files.ts';
import { enqueueConversions } from './image-queue.ts';

const notFreed = { state: { $ne: 'freed' as const } };

function newCopy(platform: FilesPlatform, source: FileDoc, owner: FileOwner, now: Date): FileDoc {
  const copy = { ...source, _id: platform.ids.next(), key: newFileKey(), ...owner, openAt: now, createdAt: now };
  delete copy.begun;
  delete copy.charge;
  return copy;
}

/**
 * Gives copies of an image its final form, if it was converted while they were made. Their `original` becomes the blob that is not served, so that their
 * conversion job deletes it when no file waits for it any more.
 */
async function applyConversion(platform: FilesPlatform, source: FileDoc, copies: readonly FileDoc[]): Promise<void> {
  const { blob, filename, contentType, size, width, height } = source;
  for (const { _id, key, blob: unusedBlob, original } of copies) {
    const convertedFields = { state: 'stored' as const, blob, filename, contentType, size, width, height };
    const blobToDelete = blob === original ? unusedBlob : original;
    await platform.db.files.updateOne(
      { _id, key, state: 'waiting' },
      {
        $set: { ...convertedFields, ...(blobToDelete ? { original: blobToDelete } : {}) },
        $unset: { uploadedAs: 1, megapixels: 1, begun: 1 },
      },
    );
  }
}

/**
 * Copies the files of `message` for other messages that are about to be stored. The copies are documents of their own that share the blobs. Returns the
 * attachments for each message, by its id; files whose source was deleted meanwhile are left out. The copies are undecided (`openAt`) until `decideCopies`.
 * Makes two reads and one insert for any number of targets, and more writes only if an image still waits or a source was deleted.
 */
export async function copyFiles(
  platform: FilesPlatform,
  message: MessageDoc,
  targets: readonly FileOwner[],
): Promise<Map<string, StoredAttachment[]>> {
  const { files } = platform.db;
  if (message.attachments.length === 0 || targets.length === 0) return new Map();
  const sourceFilter = { ...refsFilter(message.attachments.map(({ id, key }) => ({ _id: id, key }))), ...notFreed };
  const sources: FileDoc[] = await files.find(sourceFilter).sort({ _id: 1 }).toArray();
  const now = new Date(platform.now());
  const pairs = sources.map((source) => ({ source, copies: targets.map((owner) => newCopy(platform, source, owner, now)) }));
  const all = pairs.flatMap(({ copies }) => copies);
  if (all.length === 0) return new Map();
  await files.insertMany(all);
  // If a source was deleted before the copies were inserted, its blob may be deleted too: its copies are deleted.
  const currentSources = new Map((await files.find(sourceFilter).toArray()).map((source) => [source._id, source]));
  const orphanedCopies = pairs.filter(({ source }) => !currentSources.has(source._id)).flatMap(({ copies }) => copies);
  await deleteFiles(platform, orphanedCopies);
  const attachments = new Map<string, StoredAttachment[]>();
  for (const { source, copies } of pairs) {
    const current = currentSources.get(source._id);
    if (!current) continue;
    const isConverted = source.state === 'waiting' && current.state === 'stored';
    if (isConverted) await applyConversion(platform, current, copies);
    if (source.state === 'waiting') await enqueueConversions(platform, copies);
    const { filename, contentType, size, width, height } = current;
    for (const copy of copies) {
      const attachment = toStoredAttachment(isConverted ? { ...copy, filename, contentType, size, width, height } : copy);
      attachments.set(copy.messageId, [...(attachments.get(copy.messageId) ?? []), attachment]);
    }
  }
  return attachments;
}

/** Decides about the copied files of these messages after the messages were stored: a message that exists keeps its files, others lose them. */
export async function decideCopies(platform: FilesPlatform, messageIds: readonly string[]): Promise<void> {
  if (messageIds.length === 0) return;
  const undecided: FileDoc[] = await platform.db.files
    .find({ messageId: { $in: messageIds }, openAt: { $exists: true } }, { hint: 'messageId_1' })
    .toArray();
  // If `openAt` was set again after the copy was made, its message is being deleted: that delete decides.
  await decideFiles(
    platform,
    undecided.filter(({ openAt, createdAt }) => openAt?.getTime() === createdAt.getTime()),
  );
}
