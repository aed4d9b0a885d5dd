import { limits } from '../base/limits.ts';
import { cut } from '../base/text.ts';
import type { Message, ReplyPreview } from '../contract/message.ts';
import { trusted } from '../store/database.ts';
import type { AccountDoc } from '../store/models/account.ts';
import type { MessageDoc } from '../store/models/message.ts';
import type { Platform } from '../store/platform.ts';
import { accountsOf, authorOf, faceOf, goneAuthor } from './faces.ts';

type Accounts = ReadonlyMap<string, AccountDoc>;

const authorIn = (accounts: Accounts, id: string) => {
  const account = accounts.get(id);
  return account ? authorOf(account) : goneAuthor(id);
};

const faceIn = (accounts: Accounts, id: string) => {
  const account = accounts.get(id);
  return account ? faceOf(account) : goneAuthor(id);
};

const previewOf = (original: MessageDoc, accounts: Accounts): ReplyPreview => ({
  id: original._id,
  author: authorIn(accounts, original.authorId),
  content: cut(original.content, limits.replyPreviewChars),
  hasAttachments: original.attachments.length > 0,
});

function present(message: MessageDoc, accounts: Accounts, originals: ReadonlyMap<string, MessageDoc>): Message {
  const original = message.replyTo === null ? undefined : originals.get(message.replyTo);
  return {
    id: message._id,
    channelId: message.channelId,
    author: authorIn(accounts, message.authorId),
    content: message.content,
    createdAt: message.createdAt.toISOString(),
    editedAt: message.editedAt?.toISOString() ?? null,
    attachments: message.attachments,
    embeds: message.embeds,
    reactions: [],
    mentions: message.mentions,
    mentionRoles: message.mentionRoles,
    mentionEveryone: message.mentionEveryone,
    replyDeleted: message.replyTo !== null && !original,
    pinned: false,
    crossposted: false,
    ...(original ? { reply: previewOf(original, accounts) } : {}),
    ...(message.interaction ? { interaction: { user: faceIn(accounts, message.interaction.userId), name: message.interaction.name } } : {}),
  };
}

/** Messages as they are shown (spec, Message), in the order given. Authors and reply previews are live (decisions 5). One query more for replies, one for accounts not cached; `known` accounts are at hand already. */
export async function presentMessages(
  platform: Platform,
  messages: readonly MessageDoc[],
  known: readonly AccountDoc[] = [],
): Promise<Message[]> {
  const replies = [...new Set(messages.flatMap((message) => message.replyTo ?? []))];
  const found = replies.length
    ? await platform.db.messages.find({ _id: trusted({ $in: replies }), deleted: trusted({ $exists: false }) }).lean()
    : [];
  const originals = new Map(found.map((original) => [original._id, original as MessageDoc]));
  const people = messages.flatMap((message) => [message.authorId, ...(message.interaction ? [message.interaction.userId] : [])]);
  const accounts = await accountsOf(platform, [...people, ...found.map((original) => original.authorId)], known);
  return messages.map((message) => present(message, accounts, originals));
}

/** One message as it is shown. */
export async function presentMessage(platform: Platform, message: MessageDoc, known: readonly AccountDoc[] = []): Promise<Message> {
  const [shown] = await presentMessages(platform, [message], known);
  return shown as Message;
}
