import { type FieldError, requireNoErrors } from '../../base/errors.ts';
import { idTimeMs, isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { findMentions } from '../../base/markup.ts';
import { hasPermission } from '../../base/permissions.ts';
import { countCodePoints, isBlank, toWellFormed } from '../../base/text.ts';
import type { Embed } from '../../contract/embed.ts';
import { isDuplicateKey } from '../../store/mongo/database.ts';
import { insertGrouped } from '../../store/mongo/grouped-inserts.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { MessageDoc, MessageDraft, StoredAttachment } from '../../store/mongo/models/message.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import type { ChannelContext } from '../channels/context.ts';
import { recordDmPost } from '../channels/dm-activity.ts';
import { recordThreadPost } from '../channels/thread-activity.ts';
import { refsFilter } from '../files/files.ts';
import { createPreviewMark } from '../previews/links.ts';
import { enqueuePreviews } from '../previews/queue.ts';
import { loadAccounts } from '../views/accounts.ts';
import { addToOutboxes, toInserted } from './new-messages.ts';

/** All texts of an embed that are shown. They count towards its total length. */
const getEmbedTexts = ({ title, description, author, footer, fields = [] }: Embed): string[] =>
  [title, description, author?.name, footer?.text, ...fields.flatMap(({ name, value }) => [name, value])].filter(
    (text) => text !== undefined,
  );

const countEmbedChars = (embed: Embed): number => getEmbedTexts(embed).reduce((sum, text) => sum + countCodePoints(text), 0);

/** Whether an embed would show nothing: no visible text, no image and no timestamp. */
const isEmptyEmbed = (embed: Embed): boolean => !embed.image && !embed.thumbnail && !embed.timestamp && getEmbedTexts(embed).every(isBlank);

const toStoredField = ({ name, value, inline }: NonNullable<Embed['fields']>[number]) => ({
  name: toWellFormed(name),
  value: toWellFormed(value),
  inline: inline ?? false,
});

/** The embed with known fields only. Other fields that a caller sends are never stored. */
function toStoredEmbed(embed: Embed): Embed {
  const { title, description, url, color, timestamp, author, footer, image, thumbnail, fields } = embed;
  const stored = {
    title: title && toWellFormed(title),
    description: description && toWellFormed(description),
    url,
    color,
    timestamp,
    author: author && {
      name: toWellFormed(author.name),
      ...(author.url ? { url: author.url } : {}),
      ...(author.iconUrl ? { iconUrl: author.iconUrl } : {}),
    },
    footer: footer && { text: toWellFormed(footer.text) },
    image: image && { url: image.url },
    thumbnail: thumbnail && { url: thumbnail.url },
    fields: fields?.map(toStoredField),
  };
  return Object.fromEntries(Object.entries(stored).filter(([, value]) => value !== undefined)) as Embed;
}

/** The errors in an embed that the schema does not find. */
function findEmbedErrors(embed: Embed, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (isEmptyEmbed(embed)) errors.push({ path, message: 'This embed shows nothing. Add a text, an image or a timestamp.' });
  if (countEmbedChars(embed) > limits.embedTotalChars)
    errors.push({ path, message: `Use at most ${limits.embedTotalChars} characters in an embed.` });
  if (embed.timestamp && Number.isNaN(Date.parse(embed.timestamp)))
    errors.push({ path: `${path}/timestamp`, message: 'Use a date and time such as 2026-01-31T12:00:00.000Z.' });
  return errors;
}

/**
 * Refuses embeds that show nothing or exceed 6,000 characters, together with `otherErrors`. Returns them with known fields only
 * (docs/behavior/messages.md#embeds).
 */
export function checkEmbeds(given: readonly Embed[], otherErrors: readonly FieldError[] = []): Embed[] {
  const embeds = given.map(toStoredEmbed);
  requireNoErrors([...embeds.flatMap((embed, at) => findEmbedErrors(embed, `/embeds/${at}`)), ...otherErrors]);
  return embeds.map((embed) => (embed.timestamp ? { ...embed, timestamp: new Date(embed.timestamp).toISOString() } : embed));
}

/**
 * Refuses a message with no visible content, no embed and no file (docs/behavior/messages.md#content). The caller has checked the schema. `otherErrors` are
 * reported together with those of the embeds.
 */
export function checkDraft(
  input: { content?: string; embeds?: Embed[]; files?: number },
  otherErrors: readonly FieldError[] = [],
): { content: string; embeds: Embed[] } {
  const content = toWellFormed(input.content ?? '');
  const isEmpty = isBlank(content) && !input.embeds?.length && !input.files;
  const empty = { path: '/content', message: 'A message needs content, embeds or files.' };
  return { content, embeds: checkEmbeds(input.embeds ?? [], [...(isEmpty ? [empty] : []), ...otherErrors]) };
}

/** The mentions in the content of a message, as stored (docs/behavior/messages.md#mentions). */
export interface Mentions {
  mentions: string[];
  mentionRoles: string[];
  mentionEveryone: boolean;
}

/** Whether anybody is mentioned. Unread mentions are searched among such messages only. */
export const hasMentions = ({ mentions, mentionRoles, mentionEveryone }: Mentions): boolean =>
  mentionEveryone || mentions.length > 0 || mentionRoles.length > 0;

/** The parts of a `ChannelContext` that decide who is mentioned. */
export type MentionContext = Pick<ChannelContext, 'access' | 'dm' | 'permissions'>;

/**
 * Those of `ids` who can be mentioned in a channel: the members of its server, or the two users of a DM. Other accounts are left out, so that a mention does
 * not reveal whether they exist.
 */
async function filterMentionable(platform: Platform, { access, dm }: MentionContext, ids: readonly string[]): Promise<string[]> {
  const members = await access?.members(ids);
  const inChannel = ids.filter((id) => (members ? members.has(id) : dm?.userIds.includes(id)));
  const accounts = await loadAccounts(platform, inChannel);
  return inChannel.filter((id) => accounts.has(id));
}

/**
 * Resolves the mentions of `content`: people and roles of the server, or the two users of a DM, each once. The permissions in `context` are the author's.
 * `@everyone`, `@here` and the role `@everyone` count only with Mention Everyone, and are never among the roles. `replyPing` is the author of the message
 * replied to, if the reply pings them; they are added to the mentions.
 */
export async function resolveMentions(platform: Platform, content: string, context: MentionContext, replyPing?: string): Promise<Mentions> {
  const replyMentions = replyPing === undefined ? [] : [replyPing];
  if (!content.includes('@')) return { mentions: replyMentions, mentionRoles: [], mentionEveryone: false };
  const found = findMentions(content);
  const serverId = context.access?.server._id;
  const users = await filterMentionable(platform, context, found.users.filter(isId));
  const roles = new Set(context.access?.server.roles.map((role) => role.id));
  const everyone = found.everyone || found.here || (serverId !== undefined && found.roles.includes(serverId));
  return {
    mentions: [...new Set([...users, ...replyMentions])],
    mentionRoles: found.roles.filter((id) => id !== serverId && roles.has(id)),
    mentionEveryone: everyone && hasPermission(context.permissions, 'Mention Everyone'),
  };
}

/** The parts of a message. */
export interface MessageParts {
  /** Where it is posted. Its permissions are the author's; they decide whether `@everyone` counts. */
  context: ChannelContext;
  authorId: string;
  content: string;
  embeds: Embed[];
  attachments?: StoredAttachment[];
  /** The message replied to. */
  replyTo?: MessageDoc | null;
  /** Whether the reply pings its author. Default true; replying to oneself never pings. */
  mentionReply?: boolean;
  interaction?: MessageDoc['interaction'];
  /** The id of the create request, if the request may be repeated. */
  createId?: string | undefined;
}

/** Makes a message that is ready to be stored, with its mentions resolved. */
export async function composeMessage(platform: Platform, parts: MessageParts): Promise<MessageDraft> {
  const { context } = parts;
  const original = parts.replyTo ?? null;
  const pingsAuthor = original !== null && parts.mentionReply !== false && original.authorId !== parts.authorId && !original.face;
  const ping = pingsAuthor ? { replyPing: original.authorId } : {};
  const resolved = await resolveMentions(platform, parts.content, context, ping.replyPing);
  return {
    channelId: context.channelId,
    serverId: context.serverId,
    authorId: parts.authorId,
    content: parts.content,
    embeds: parts.embeds,
    attachments: parts.attachments ?? [],
    ...resolved,
    ...(hasMentions(resolved) ? { pings: true as const } : {}),
    ...ping,
    replyTo: original?._id ?? null,
    interaction: parts.interaction ?? null,
    ...(parts.createId === undefined ? {} : { createId: parts.createId }),
    editedAt: null,
    ...(context.channel?.kind === 'thread' ? { thread: true as const } : {}),
    ...createPreviewMark(parts.content, new Date(platform.now())),
  };
}

/** A request that creates a message. */
export interface CreateRequest {
  /** Its id, which stays the same when the request is repeated. */
  id: string;
  /** Whether it may be repeated: it has an Idempotency-Key. */
  isRepeatable: boolean;
}

/** The `createId` that a message stores: only if its request may be repeated. */
export const toCreateIdField = ({ id, isRepeatable }: CreateRequest): { createId?: string } => (isRepeatable ? { createId: id } : {});

/** The message that `draft` becomes under the id `_id`. */
export const toMessageDoc = (draft: MessageDraft, _id: string): MessageDoc => ({ ...draft, _id, createdAt: new Date(idTimeMs(_id)) });

/** The message that the create request `createId` made in this channel, also in an earlier run; null if there is none. */
export const findMessageByCreateId = ({ db }: Platform, channelId: string, createId: string): Promise<MessageDoc | null> =>
  db.messages.findOne({ channelId, createId });

/** Inserts a message. Returns the message that its create request has stored before, as it is now, and then inserts nothing; null if there is none. */
async function insertOnce(platform: Platform, message: MessageDoc, deadlineMs: number): Promise<MessageDoc | null> {
  const { channelId, createId, authorId } = message;
  try {
    await insertGrouped(platform.db.messages, message, deadlineMs);
    return null;
  } catch (error) {
    const existing = isDuplicateKey(error) && createId !== undefined ? await findMessageByCreateId(platform, channelId, createId) : null;
    if (existing?.authorId !== authorId) throw error;
    return existing;
  }
}

/** How a message is stored. */
export interface StoreOptions {
  /** Echoed in MESSAGE_CREATE. */
  nonce?: string | undefined;
  /** The files of its attachments, which belong to it before it is inserted. */
  files?: readonly FileDoc[];
  /** A time in Unix milliseconds that its id is above. */
  after?: number | undefined;
}

/**
 * Stores a message, whose MESSAGE_CREATE is then pending: reserve the id, insert, release the id, wake the relay. The id is taken immediately before the insert,
 * because readers of the channel wait until it is released. A create request that is repeated after a crash stores no second message: it returns that of the
 * first, as it is now.
 */
export async function storeMessage(
  platform: EnqueuePlatform,
  draft: MessageDraft,
  { nonce, files = [], after }: StoreOptions = {},
): Promise<MessageDoc> {
  const { db, messageOrder, tracing } = platform;
  const { channelId } = draft;
  if (draft.thread) await recordThreadPost(platform, draft);
  const marks = { ...(nonce === undefined ? {} : { nonce }), ...tracing.current() };
  const message = await tracing.run('insert message', {}, async () => {
    const reserved = await messageOrder.reserve([channelId], after);
    try {
      const messageId = reserved.ids[0] as string;
      if (files.length > 0) await db.files.updateMany(refsFilter(files), { $set: { messageId } });
      const created: MessageDoc = { ...toMessageDoc(draft, messageId), ...marks };
      const inserted = toInserted(created, reserved.areInFlight);
      const existing = await insertOnce(platform, inserted, reserved.deadlineMs);
      // If its insert took effect late, the relay may have passed it over.
      if (existing?.isNew) await addToOutboxes(platform, [existing]);
      const released = messageOrder.release(reserved, { isStored: existing === null, messages: [inserted] });
      void released.then((isWoken) => isWoken || platform.wake('relay-channel', { channelId }));
      return existing ?? created;
    } catch (error) {
      messageOrder.releaseFailed(reserved, error);
      throw error;
    }
  });
  if (message.previewsAt) await enqueuePreviews(platform, message);
  if (message.serverId === null && !message.deleted) await recordDmPost(platform, message);
  return message;
}
