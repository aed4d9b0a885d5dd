import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { StoredAttachment } from '../../store/mongo/models/message.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import { addEvent } from '../events/pending.ts';

/** The attachment that a message stores for a file. */
export const toStoredAttachment = ({ _id, key, filename, contentType, size, width, height }: FileDoc): StoredAttachment => ({
  id: _id,
  key,
  filename,
  contentType,
  size,
  width,
  height,
});

/**
 * Updates the attachment of a message that was posted before its image was converted, and adds MESSAGE_UPDATE to the outbox in the same write. `editedAt` stays
 * (docs/behavior/messages.md#images). Changes nothing if the message is deleted or already has this state of the file.
 */
export async function updateAttachment(platform: EnqueuePlatform, file: FileDoc): Promise<void> {
  const { _id, messageId, channelId } = file;
  const found = await platform.db.messages.findOne({ _id: messageId, channelId, deleted: { $exists: false } });
  const attachments = found?.attachments ?? [];
  const at = attachments.findIndex(({ id }) => id === _id);
  const current = attachments[at];
  const next = toStoredAttachment(file);
  if (!current || (Object.keys(next) as (keyof StoredAttachment)[]).every((field) => current[field] === next[field])) return;
  // Matches the attachment only as it was read, so that no second event is stored if another process has updated it since. (In a filter on
  // `attachments.<index>.<field>`, null would match any value.)
  const unchangedFilter = { attachments: { $elemMatch: { ...current } }, [`attachments.${at}.id`]: _id };
  const pendingEvent = addEvent(platform, { name: 'MESSAGE_UPDATE' });
  await platform.db.messages.updateOne(
    { _id: messageId, channelId, deleted: { $exists: false }, ...unchangedFilter },
    { ...pendingEvent, $set: { [`attachments.${at}`]: next } },
  );
  platform.wake('relay-channel', { channelId });
}
