import { limits } from '../../base/limits.ts';
import { truncateMarkup } from '../../base/markup-truncate.ts';
import type { Attachment, Message, ReplyPreview } from '../../contract/message.ts';
import type { Author } from '../../contract/user.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { MessageDoc, StoredAttachment } from '../../store/mongo/models/message.ts';
import type { Platform } from '../../store/platform.ts';
import { deletedAuthor, loadAccounts, toAuthor, toUserSummary } from './accounts.ts';
import { toShownEmbed } from './image-links.ts';
import { findOwnReactions, toReactions } from './reactions.ts';

type Accounts = ReadonlyMap<string, AccountDoc>;

const findAuthor = (accounts: Accounts, { authorId, face }: Pick<MessageDoc, 'authorId' | 'face'>): Author => {
  if (face) return { id: authorId, ...face };
  const account = accounts.get(authorId);
  return account ? toAuthor(account) : deletedAuthor(authorId);
};

const findUserSummary = (accounts: Accounts, id: string) => {
  const account = accounts.get(id);
  return account ? toUserSummary(account) : deletedAuthor(id);
};

const toMentionedUsers = (mentions: readonly string[], accounts: Accounts): Pick<Message, 'mentionedUsers'> =>
  mentions.length ? { mentionedUsers: mentions.map((id) => findUserSummary(accounts, id)) } : {};

function toReplyPreview(original: MessageDoc, accounts: Accounts): ReplyPreview {
  const content = truncateMarkup(original.content, limits.replyPreviewChars);
  const mentions = original.mentions.filter((id) => content.includes(`<@${id}>`));
  return {
    id: original._id,
    author: findAuthor(accounts, original),
    content,
    ...toMentionedUsers(mentions, accounts),
    hasAttachments: original.attachments.length > 0,
  };
}

/** The URL of a file. Whoever knows its key can read the file (docs/behavior/messages.md#serving-files). */
export const fileUrl = (baseUrl: string, { key, filename }: Pick<StoredAttachment, 'key' | 'filename'>): string =>
  `${baseUrl}/files/${key}/${encodeURIComponent(filename)}`;

const toAttachment = (baseUrl: string, stored: StoredAttachment): Attachment => ({
  id: stored.id,
  filename: stored.filename,
  contentType: stored.contentType,
  size: stored.size,
  width: stored.width,
  height: stored.height,
  url: fileUrl(baseUrl, stored),
});

/** What `buildMessage` needs besides the message. */
interface ViewContext {
  config: Platform['config'];
  viewerId: string | null;
  accounts: Accounts;
  originals: ReadonlyMap<string, MessageDoc>;
  ownReactions: ReadonlySet<string>;
}

function buildMessage(message: MessageDoc, { config, viewerId, accounts, originals, ownReactions }: ViewContext): Message {
  const original = message.replyTo === null ? undefined : originals.get(message.replyTo);
  const embeds = message.previews ? [...message.embeds, ...message.previews] : message.embeds;
  return {
    id: message._id,
    channelId: message.channelId,
    author: findAuthor(accounts, message),
    content: message.content,
    createdAt: message.createdAt.toISOString(),
    editedAt: message.editedAt?.toISOString() ?? null,
    attachments: message.attachments.map((one) => toAttachment(config.baseUrl, one)),
    embeds: embeds.map((one) => toShownEmbed(config, one)),
    reactions: toReactions(message, viewerId, ownReactions),
    mentions: message.mentions,
    ...toMentionedUsers(message.mentions, accounts),
    mentionRoles: message.mentionRoles,
    mentionEveryone: message.mentionEveryone,
    replyDeleted: message.replyTo !== null && !original,
    pinned: message.pinnedAt !== undefined,
    crossposted: message.crossposted === true,
    ...(original ? { reply: toReplyPreview(original, accounts) } : {}),
    ...(message.interaction
      ? { interaction: { user: findUserSummary(accounts, message.interaction.userId), name: message.interaction.name } }
      : {}),
  };
}

/** The account that reads the messages, whose own reactions are marked; null for an event. */
export type Viewer = AccountDoc | null;

/**
 * Messages as `viewer` sees them, in the order given (docs/behavior/messages.md#the-message). Authors, mentioned accounts and reply previews are current
 * (docs/behavior/messages.md#replies). Takes one query for the originals of replies, one for the viewer's reactions and one for accounts that are not cached.
 * `versions` are access versions that this request has read already.
 */
export async function toMessages(
  platform: Platform,
  messages: readonly MessageDoc[],
  viewer: Viewer,
  versions?: ReadonlyMap<string, string | null>,
): Promise<Message[]> {
  const replies = [...new Set(messages.flatMap((message) => message.replyTo ?? []))];
  const channelId = { $in: [...new Set(messages.map((message) => message.channelId))] }; // a reply is in the channel of its original
  const viewerId = viewer?._id ?? null;
  const [found, ownReactions] = await Promise.all([
    replies.length ? platform.db.messages.find({ channelId, _id: { $in: replies }, deleted: { $exists: false } }).toArray() : [],
    findOwnReactions(platform, messages, viewerId),
  ]);
  const originals = new Map(found.map((original) => [original._id, original]));
  const authors = [...messages, ...originals.values()].flatMap(({ face, authorId, mentions }) =>
    face ? mentions : [authorId, ...mentions],
  );
  const users = messages.flatMap((message) => message.interaction?.userId ?? []);
  const accounts = await loadAccounts(platform, [...authors, ...users], viewer ? [viewer] : [], versions);
  const context = { config: platform.config, viewerId, accounts, originals, ownReactions };
  return messages.map((message) => buildMessage(message, context));
}

/** One message as `viewer` sees it. */
export async function toMessage(platform: Platform, message: MessageDoc, viewer: Viewer): Promise<Message> {
  const [view] = await toMessages(platform, [message], viewer);
  return view as Message;
}
