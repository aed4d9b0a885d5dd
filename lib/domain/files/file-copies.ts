import { trusted } from '../../store/mongo/database.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { MessageDoc, StoredAttachment } from '../../store/mongo/models/message.ts';
import type { FilesPlatform } from '../../store/platform.ts';
import { attachmentOfFile } from './attachment-updates.ts';
import { type FileOwner, newFileKey } from './attachments.ts';
import { decideFiles, dropFiles } from './files.ts';
import { nudgeConversions } from './image-queue.ts';

const notFreed = { state: trusted({ $ne: 'freed' as const }) };

function copyOf(platform: FilesPlatform, source: FileDoc, owner: FileOwner, now: Date): FileDoc {
  const copy = { ...source, _id: platform.ids.next(), key: newFileKey(), ...owner, openAt: now, createdAt: now };
  delete copy.begun;
  delete copy.charge;
  return copy;
}

/**
 * Gives copies of an image its final form, if it was converted while they were made. Their `original` becomes the blob that is not served, so that their
 * conversion job deletes it when no file waits for it any more.
 */
async function followSource(platform: FilesPlatform, source: FileDoc, copies: readonly FileDoc[]): Promise<void> {
  const { blob, filename, contentType, size, width, height } = source;
  for (const { _id, blob: promised, original } of copies) {
    const form = { state: 'stored' as const, blob, filename, contentType, size, width, height };
    const left = blob === original ? promised : original;
    await platform.db.files.updateOne(
      { _id, state: 'waiting' },
      { $set: { ...form, ...(left ? { original: left } : {}) }, $unset: { uploadedAs: 1, megapixels: 1, begun: 1 } },
    );
  }
}

/**
 * Copies the files of `source` for other messages that are about to be stored. The copies are documents of their own that share the blobs. Returns the
 * attachments for each message, by its id; files whose source was deleted meanwhile are left out. The copies are undecided (`openAt`) until `settleCopies`.
 * Makes two reads and one insert for any number of targets, and more writes only if an image still waits or a source was deleted.
 */
export async function copyFiles(
  platform: FilesPlatform,
  source: MessageDoc,
  targets: readonly FileOwner[],
): Promise<Map<string, StoredAttachment[]>> {
  const { files } = platform.db;
  const ids = source.attachments.map(({ id }) => id);
  if (ids.length === 0 || targets.length === 0) return new Map();
  const these = { _id: trusted({ $in: ids }), ...notFreed };
  const sources: FileDoc[] = await files.find(these).sort({ _id: 1 }).lean();
  const now = new Date(platform.now());
  const pairs = sources.map((one) => ({ one, copies: targets.map((owner) => copyOf(platform, one, owner, now)) }));
  const all = pairs.flatMap(({ copies }) => copies);
  if (all.length === 0) return new Map();
  await files.collection.insertMany(all as never[]);
  // If a source was deleted before the copies were inserted, its blob may be deleted too: its copies are dropped.
  const still = new Map((await files.find(these).lean()).map((one) => [one._id, one as FileDoc]));
  const lost = pairs.filter(({ one }) => !still.has(one._id)).flatMap(({ copies }) => copies);
  await dropFiles(
    platform,
    lost.map(({ _id }) => _id),
  );
  const attachments = new Map<string, StoredAttachment[]>();
  for (const { one, copies } of pairs) {
    const standing = still.get(one._id);
    if (!standing) continue;
    const final = one.state === 'waiting' && standing.state === 'stored';
    if (final) await followSource(platform, standing, copies);
    if (one.state === 'waiting') await nudgeConversions(platform, copies);
    const { filename, contentType, size, width, height } = standing;
    for (const copy of copies) {
      const shown = attachmentOfFile(final ? { ...copy, filename, contentType, size, width, height } : copy);
      attachments.set(copy.messageId, [...(attachments.get(copy.messageId) ?? []), shown]);
    }
  }
  return attachments;
}

/** Decides about the copied files of these messages after the messages were stored: a message that exists keeps its files, others lose them. */
export async function settleCopies(platform: FilesPlatform, messageIds: readonly string[]): Promise<void> {
  if (messageIds.length === 0) return;
  const open: FileDoc[] = await platform.db.files
    .find({ messageId: trusted({ $in: messageIds }), openAt: trusted({ $exists: true }) })
    .lean();
  // If `openAt` was set again after the copy was made, its message is being deleted: that delete decides.
  await decideFiles(
    platform,
    open.filter(({ openAt, createdAt }) => openAt?.getTime() === createdAt.getTime()),
  );
}
