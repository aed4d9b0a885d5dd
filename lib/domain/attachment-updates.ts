import type { FileDoc } from '../store/models/file.ts';
import type { MessageDoc, StoredAttachment } from '../store/models/message.ts';
import type { EnqueuePlatform } from '../store/platform.ts';
import { owes } from './owed-events.ts';

/** A file as it stands in its message. */
export const attachmentOfFile = ({ _id, key, filename, contentType, size, width, height }: FileDoc): StoredAttachment => ({
  id: _id,
  key,
  filename,
  contentType,
  size,
  width,
  height,
});

/**
 * Updates the attachment of a message that was posted before its image was ready to `file`, and adds MESSAGE_UPDATE to the outbox in the same write.
 * `editedAt` stays (docs/behavior/messages.md#images). Changes nothing if the message is gone or already shows the file as it is.
 */
export async function showStoredFile(platform: EnqueuePlatform, file: FileDoc): Promise<void> {
  const { _id, messageId, channelId } = file;
  const found = await platform.db.messages.collection.findOne({ _id: messageId as never, channelId, deleted: { $exists: false } });
  const attachments = (found as unknown as MessageDoc | null)?.attachments ?? [];
  const at = attachments.findIndex(({ id }) => id === _id);
  const shown = attachments[at];
  const next = attachmentOfFile(file);
  if (!shown || (Object.keys(next) as (keyof StoredAttachment)[]).every((field) => shown[field] === next[field])) return;
  // As it was seen: when another has brought it up to date since, nothing is owed twice. (A path with an index would take null for any value.)
  const asSeen = { attachments: { $elemMatch: { ...shown } }, [`attachments.${at}.id`]: _id };
  const owed = owes(platform, { name: 'MESSAGE_UPDATE' });
  await platform.db.messages.collection.updateOne(
    { _id: messageId as never, channelId, deleted: { $exists: false }, ...asSeen },
    { ...owed, $set: { [`attachments.${at}`]: next } },
  );
  platform.nudge('relay-channel', { channelId });
}
