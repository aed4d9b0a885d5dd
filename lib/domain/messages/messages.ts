import { type FieldError, refuse, refuseField, requireNoErrors } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { hasPermission } from '../../base/permissions.ts';
import { isBlank, toWellFormed } from '../../base/text.ts';
import type { Message, MessageEdit, MessageInput } from '../../contract/message.ts';
import type { Update } from '../../store/mongo/database.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import { type MessageEvent, pushEntries } from '../../store/mongo/models/outbox.ts';
import type { ApiPlatform, FilesPlatform, Platform } from '../../store/platform.ts';
import { writeAudit } from '../access/audit.ts';
import { type Actor, requirePermissions } from '../access/checks.ts';
import { requireMessageChannel } from '../channels/context.ts';
import { refreshLastMessage } from '../channels/dm-activity.ts';
import { markOwnPost } from '../channels/reads.ts';
import { requireNoCooldown, startCooldown } from '../channels/slowmode.ts';
import { decrementMessageCount } from '../channels/thread-activity.ts';
import { addEvent, createEntry, outboxHasRoom, requireOutboxRoom } from '../events/pending.ts';
import { toStoredAttachment } from '../files/attachment-updates.ts';
import { discardPostFiles, finishPostFiles, type ReceivedFile, storePostFiles } from '../files/attachments.ts';
import { markFilesUndecided } from '../files/files.ts';
import { editPreviews } from '../previews/links.ts';
import { enqueuePreviews } from '../previews/queue.ts';
import { toMessage } from '../views/messages.ts';
import {
  type CreateRequest,
  checkDraft,
  checkEmbeds,
  composeMessage,
  hasMentions,
  type MentionContext,
  resolveMentions,
  storeMessage,
  toCreateIdField,
} from './draft.ts';

const notDeleted = { deleted: { $exists: false } };

/** The message `messageId` of `channelId`; 404 if it is unknown, deleted or in another channel (docs/behavior/messages.md#channels-that-hold-messages). */
export async function requireMessage(platform: Platform, channelId: string, messageId: string): Promise<MessageDoc> {
  const found = isId(messageId) ? await platform.db.messages.findOne({ _id: messageId, channelId, ...notDeleted }) : null;
  return found ?? refuse('not_found', { what: 'message' });
}

/** One message. Needs View Channel. */
export async function getMessage(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string): Promise<Message> {
  await requireMessageChannel(platform, actor, channelId);
  return toMessage(platform, await requireMessage(platform, channelId, messageId), actor.account);
}

/** An error for embeds from people. They are not dropped, because only bots may send them (docs/behavior/messages.md#posting). */
const findAuthorErrors = (actor: Actor, embeds: readonly unknown[] | undefined): FieldError[] =>
  !actor.isBot && embeds?.length ? [{ path: '/embeds', message: 'Only bots can send embeds.' }] : [];

/**
 * Posts a message (docs/behavior/messages.md#posting): authorize, draft, files, store. Needs View Channel and Send Messages, and Attach Files for `received`. One
 * write stores the message and its event. The message gets its id when it is stored; until then `create` identifies the post. Refuses with 400 if there is
 * nothing to show, if a person sends embeds, or if `replyTo` is not in this channel. Slow mode is checked last, so a refused post starts no cooldown, but
 * before any file is stored.
 */
export async function postMessage(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  input: MessageInput,
  create: CreateRequest,
  received: readonly ReceivedFile[] = [],
): Promise<Message> {
  const context = await requireMessageChannel(
    platform,
    actor,
    channelId,
    'Send Messages',
    ...(received.length ? (['Attach Files'] as const) : []),
  );
  const replyTo = input.replyTo ? await findOriginal(platform, channelId, input.replyTo) : null;
  const draft = checkDraft({ content: input.content ?? '', embeds: input.embeds ?? [], files: received.length }, [
    ...findAuthorErrors(actor, input.embeds),
    ...(input.replyTo && !replyTo ? [{ path: '/replyTo', message: 'This message is not in this channel.' }] : []),
  ]);
  await startCooldown(platform, context, actor.id, create.id);
  const owner = { messageId: create.id, channelId, accountId: actor.id, serverId: context.serverId };
  const files = await storePostFiles(platform, owner, received);
  let stored: MessageDoc;
  try {
    const composed = await composeMessage(platform, {
      ...toCreateIdField(create),
      context,
      authorId: actor.id,
      ...draft,
      attachments: files.map(toStoredAttachment),
      replyTo,
      ...(input.mentionReply === undefined ? {} : { mentionReply: input.mentionReply }),
    });
    stored = await finishPostFiles(platform, files, await storeMessage(platform, composed, { nonce: input.nonce, files }));
  } catch (error) {
    await discardPostFiles(platform, files, error);
    throw error;
  }
  if (!actor.isBot) await markOwnPost(platform, stored);
  const view = await toMessage(platform, stored, actor.account);
  return input.nonce === undefined ? view : { ...view, nonce: input.nonce };
}

/** The message that a post replies to; null if it is not in this channel (docs/behavior/messages.md#replies). */
const findOriginal = (platform: Platform, channelId: string, replyTo: string): Promise<MessageDoc | null> =>
  platform.db.messages.findOne({ _id: replyTo, channelId, ...notDeleted });

/**
 * Edits the caller's own message (docs/behavior/messages.md#editing). Missing fields stay as they are; `embeds` replace the rich embeds. Mentions follow the
 * new content but notify nobody again. Refuses with `not_author`, and with 400 if nothing would be left. An empty edit changes nothing.
 */
export async function editMessage(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  messageId: string,
  edit: MessageEdit,
): Promise<Message> {
  const context = await requireMessageChannel(platform, actor, channelId);
  const message = await requireMessage(platform, channelId, messageId);
  if (message.authorId !== actor.id) refuse('not_author');
  requireNoErrors(findAuthorErrors(actor, edit.embeds));
  const edited = await applyEdit(platform, context, message, edit);
  return toMessage(platform, edited, actor.account);
}

/**
 * Checks an edit against the message that it changes. Returns the new content and embeds, those that are given; null if there are none. Refuses with 400 if
 * nothing would be left.
 */
export function checkEdit(message: MessageDoc, edit: MessageEdit): Partial<Pick<MessageDoc, 'content' | 'embeds'>> | null {
  const content = edit.content === undefined ? undefined : toWellFormed(edit.content);
  const embeds = edit.embeds && checkEmbeds(edit.embeds);
  if (content === undefined && embeds === undefined) return null;
  const isLeftEmpty = isBlank(content ?? message.content) && (embeds ?? message.embeds).length === 0 && message.attachments.length === 0;
  if (isLeftEmpty) refuseField('/content', 'The message would be empty. Keep content, embeds or files.');
  return { ...(content === undefined ? {} : { content }), ...(embeds === undefined ? {} : { embeds }) };
}

/** Writes an edit that was allowed. The filter contains what was checked, so that two concurrent edits cannot together leave an empty message. */
export async function applyEdit(
  platform: ApiPlatform,
  context: MentionContext,
  message: MessageDoc,
  edit: MessageEdit,
): Promise<MessageDoc> {
  const changed = checkEdit(message, edit);
  if (!changed) return message;
  const { content, embeds } = changed;
  requireOutboxRoom(message.outbox);
  const now = new Date(platform.now());
  const mentions = content === undefined ? null : await resolveMentions(platform, content, context, message.replyPing);
  const previews = content === undefined ? { set: {}, unset: {} } : editPreviews(message, content, now);
  const unset = { ...previews.unset, ...(mentions && !hasMentions(mentions) ? { pings: 1 as const } : {}) };
  const pendingEvent = addEvent(platform, { name: 'MESSAGE_UPDATE' });
  const unchanged = content === undefined ? { content: message.content } : embeds === undefined ? { embeds: message.embeds } : {};
  const updated = await platform.db.messages.findOneAndUpdate(
    { _id: message._id, channelId: message.channelId, ...notDeleted, ...outboxHasRoom, ...unchanged },
    {
      ...pendingEvent,
      $set: {
        ...changed,
        ...mentions,
        ...(mentions && hasMentions(mentions) ? { pings: true } : {}),
        ...previews.set,
        editedAt: now,
      },
      ...(Object.keys(unset).length ? { $unset: unset } : {}),
    },
    { returnDocument: 'after' },
  );
  platform.wake('relay-channel', { channelId: message.channelId });
  if (updated && previews.set.previewsAt) await enqueuePreviews(platform, updated);
  if (updated) return updated;
  // Another edit or a delete came in between: read the message and check again.
  const current = await requireMessage(platform, message.channelId, message._id);
  return applyEdit(platform, context, current, edit);
}

/**
 * Checks a post with files before its body is read, and refuses it as `postMessage` would: with 404, with 403 without View Channel or Send Messages, and with
 * `slowmode`. With an Idempotency-Key (`isRepeatable`) slow mode is not checked, because the post that it repeats may have started the cooldown. Returns a
 * check to call before the first file is received, which refuses without Attach Files.
 */
export async function checkPostBeforeUpload(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  isRepeatable: boolean,
): Promise<() => void> {
  const context = await requireMessageChannel(platform, actor, channelId, 'Send Messages');
  if (!isRepeatable) await requireNoCooldown(platform, context, actor.id);
  return () => requirePermissions(context.permissions, 'Attach Files');
}

/**
 * Deletes the caller's own message, or anyone's with Manage Messages (docs/behavior/messages.md#deleting). Does not need Send Messages. A second delete is 404.
 */
export async function deleteMessage(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string): Promise<void> {
  const context = await requireMessageChannel(platform, actor, channelId);
  const message = await requireMessage(platform, channelId, messageId);
  const isOwn = message.authorId === actor.id;
  if (!isOwn && !hasPermission(context.permissions, 'Manage Messages'))
    refuse('missing_permission', { permissions: 'Manage Messages' }, { missing: ['Manage Messages'] });
  if (!(await replaceWithTombstone(platform, message))) refuse('not_found', { what: 'message' });
  if (!isOwn && context.serverId !== null)
    await writeAudit(platform, actor, { serverId: context.serverId, action: 'message_delete', targetId: message._id });
}

/** The update that removes from a tombstone what it does not keep. */
export const tombstoneUpdate = {
  $set: { deleted: true as const, content: '', embeds: [], attachments: [], mentions: [], mentionRoles: [] },
  $unset: { reactions: 1, previews: 1, previewsAt: 1, pinnedAt: 1, pinSlot: 1, crosspostAt: 1, face: 1, pings: 1, replyPing: 1 },
} satisfies Update<MessageDoc>;

/** Turns a message into a tombstone, which keeps only its ids and pending events, and removes its pin. False if it was deleted before. */
export async function replaceWithTombstone(platform: FilesPlatform, message: MessageDoc): Promise<boolean> {
  const pinsEvents = message.pinnedAt ? [createEntry(platform, { name: 'PINS_UPDATE' as const })] : [];
  const pendingEvents = pushEntries<MessageEvent>(createEntry(platform, { name: 'MESSAGE_DELETE' as const }), ...pinsEvents);
  await markFilesUndecided(platform, message.attachments);
  const { modifiedCount } = await platform.db.messages.updateOne(
    { _id: message._id, channelId: message.channelId, ...notDeleted },
    { ...tombstoneUpdate, ...pendingEvents },
  );
  platform.wake('relay-channel', { channelId: message.channelId });
  if (message.attachments.length) platform.jobs.tryEnqueue('settle-files', { messageId: message._id });
  if (message.serverId === null) await refreshLastMessage(platform, message.channelId);
  await platform.messageOrder.newestMessages.forget(message.channelId);
  if (message.thread && modifiedCount === 1) await decrementMessageCount(platform, message.channelId);
  return modifiedCount === 1;
}
