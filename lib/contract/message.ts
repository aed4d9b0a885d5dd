import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Embed, EmbedView } from './embed.ts';
import { Choice, Described, DocumentedAs, ObjectOf, OneOf } from './schemas.ts';
import { IdOf, Nullable, Timestamp } from './shared.ts';
import { Author, UserSummary } from './user.ts';

const side = (name: string) => Described(Nullable(Type.Integer()), `The ${name} in pixels; null for everything but images.`, 640);

/** A file of a message (docs/behavior/messages.md#files). */
export const Attachment = ObjectOf(
  {
    id: IdOf('other', 'The id of the file.'),
    filename: Type.String({
      description: 'The name of the file, at most 255 characters. A converted image ends in `.webp`.',
      examples: ['engine.webp'],
    }),
    contentType: Type.String({ description: 'The media type of the file.', examples: ['image/webp'] }),
    size: Type.Integer({ description: 'The size of the stored file in bytes.', examples: [48213] }),
    width: side('width'),
    height: side('height'),
    url: Type.String({
      description: 'The address of the file. Who knows it can read the file without a login.',
      examples: ['http://localhost:8080/files/8f14e45fceea167a5a36dedd4bea2543/engine.webp'],
    }),
  },
  'A file of a message.',
);
export type Attachment = Static<typeof Attachment>;

const mentionedUsers = (description: string) =>
  Type.Optional(
    Type.Array(UserSummary, { maxItems: limits.mentionsPerMessage, description: `${description} Absent if nobody is mentioned.` }),
  );

/** The current state of the message that a reply answers. */
export const ReplyPreview = ObjectOf(
  {
    id: IdOf('message', 'The id of the message that was replied to.'),
    author: Described(Author, 'The author of that message.'),
    content: Type.String({
      description: `The start of its text, at most ${limits.replyPreviewChars} characters, with formatting that is cut closed again. It may be empty.`,
      examples: ['Who wants to test the engine?'],
    }),
    mentionedUsers: mentionedUsers('The accounts that this part of the text mentions, with the current profile.'),
    hasAttachments: Type.Boolean({ description: 'Whether it has files.' }),
  },
  'The current state of the message that a reply answers.',
  { mentionedUsers: undefined },
);
export type ReplyPreview = Static<typeof ReplyPreview>;

/** An emoji on a message and the number of its reactions. */
export const ReactionCount = ObjectOf(
  {
    emoji: Type.String({ description: 'A Unicode emoji, or a custom emoji as `name:id`.', examples: ['👍'] }),
    count: Type.Integer({ description: 'How many accounts reacted with it.', examples: [2] }),
    me: Type.Boolean({ description: 'Whether the caller reacted with it. Always false in events.' }),
  },
  'An emoji on a message and the number of its reactions.',
);

/** The use of a command that a message answers. */
export const MessageInteraction = ObjectOf(
  {
    user: Described(UserSummary, 'The person who used the command.'),
    name: Type.String({ description: 'The name of the command.', examples: ['roll'] }),
  },
  'The use of a command that a message answers.',
);

/**
 * A message (docs/behavior/messages.md#the-message). `nonce` is only in the 201 response and in MESSAGE_CREATE, `serverId` only in events, and `ephemeral` only
 * in answers that are not stored as messages.
 */
export const Message = ObjectOf(
  {
    id: IdOf('message', 'The id of the message. The messages of a channel sort by it as text.'),
    channelId: IdOf('channel', 'The channel of the message.'),
    author: Described(Author, 'Who wrote it, with the current profile. Messages of webhooks and crossposted copies keep their names.'),
    content: Type.String({
      description: 'The text, up to 2,000 characters. It may be empty if the message has files or embeds.',
      examples: ['Hello, world!'],
    }),
    createdAt: Described(Timestamp, 'When it was posted.'),
    editedAt: Nullable(Timestamp, 'When the author edited it last; null if never.'),
    attachments: Type.Array(Attachment, {
      maxItems: limits.filesPerMessage,
      description: `The files of the message, at most ${limits.filesPerMessage}.`,
    }),
    embeds: Type.Array(EmbedView, {
      maxItems: limits.embedsShown,
      description: `Rich embeds, then previews of links. At most ${limits.embedsShown} in all.`,
    }),
    reactions: Type.Array(ReactionCount, {
      maxItems: limits.reactionsPerMessage,
      description: `The emoji on the message in the order in which they were added, at most ${limits.reactionsPerMessage}.`,
    }),
    mentions: Type.Array(IdOf('user', 'An account.'), {
      maxItems: limits.mentionsPerMessage,
      description: 'The accounts that the message mentions: those of the text in its order, then the author of a reply.',
    }),
    mentionedUsers: mentionedUsers('The accounts of `mentions` in their order, with the current profile, also after they have left.'),
    mentionRoles: Type.Array(IdOf('role', 'A role.'), {
      maxItems: limits.mentionsPerMessage,
      description: 'The roles that the message mentions.',
    }),
    mentionEveryone: Type.Boolean({ description: 'Whether the message mentions everyone and its author was allowed to.' }),
    replyDeleted: Type.Boolean({ description: 'Whether it is a reply to a message that was deleted.' }),
    pinned: Type.Boolean({ description: 'Whether it is pinned.' }),
    crossposted: Type.Boolean({ description: 'Whether it was published to the channels that follow its announcement channel.' }),
    reply: Type.Optional(Described(ReplyPreview, 'The message that it replies to; absent if it is no reply, or the original was deleted.')),
    interaction: Type.Optional(Described(MessageInteraction, 'The use of a command that it answers; absent for other messages.')),
    serverId: Type.Optional(
      Nullable(IdOf('server', 'The server.'), 'The server of the channel. Only in events; absent or null in a direct message.'),
    ),
    nonce: Type.Optional(
      Type.String({
        description: 'The `nonce` of the post. Only in the response to the post and in `MESSAGE_CREATE`; absent without one.',
        examples: ['draft-17'],
      }),
    ),
    ephemeral: Type.Optional(
      Type.Boolean({
        description:
          'true for an answer that only the person who used the command sees, and that is not stored as a message. Absent otherwise.',
      }),
    ),
  },
  'A message.',
  {
    editedAt: null,
    attachments: [],
    embeds: [],
    mentions: [],
    mentionedUsers: undefined,
    mentionRoles: [],
    reply: undefined,
    interaction: undefined,
    serverId: undefined,
    nonce: undefined,
    ephemeral: undefined,
  },
);
export type Message = Static<typeof Message>;

const content = Type.String({
  maxLength: limits.messageChars,
  description: 'The text, up to 2,000 characters. Without it, the message needs an embed or a file.',
  examples: ['Hello, world!'],
});
const embeds = Type.Array(Embed, {
  maxItems: limits.embedsPerMessage,
  description: `Rich embeds, at most ${limits.embedsPerMessage}. Default: none. Of messages of accounts, only bots can send them.`,
});
const ephemeral = Type.Boolean({
  description: 'Whether only the person who used the command sees the message. It is then not stored as a message. Default: false.',
});

/** `POST /api/channels/{channelId}/messages` as JSON. */
export const MessageInput = ObjectOf(
  {
    content: Type.Optional(content),
    embeds: Type.Optional(embeds),
    replyTo: Type.Optional(Nullable(IdOf('message', 'A message.'), 'A message of the same channel to reply to. Default: null, none.')),
    mentionReply: Type.Optional(
      Type.Boolean({ description: 'Whether a reply mentions the author of the original. Default: true.', examples: [true] }),
    ),
    nonce: Type.Optional(
      Type.String({
        maxLength: limits.nonceChars,
        description: `A text of up to ${limits.nonceChars} characters that the response and \`MESSAGE_CREATE\` repeat. It does not prevent duplicates.`,
        examples: ['draft-17'],
      }),
    ),
  },
  'A message to post. It needs a text, an embed or a file that shows something.',
  { embeds: undefined, replyTo: undefined, mentionReply: undefined, nonce: undefined },
);
export type MessageInput = Static<typeof MessageInput>;

/** `PATCH /api/channels/{channelId}/messages/{messageId}`. Omitted fields do not change. */
export const MessageEdit = ObjectOf(
  {
    content: Type.Optional(Described(content, 'The new text, up to 2,000 characters.', 'Hello again, world!')),
    embeds: Type.Optional(
      Described(embeds, 'The new rich embeds, which replace all earlier ones. An empty list removes them. Previews of links stay.'),
    ),
  },
  'A change of a message. Omitted fields do not change.',
  { embeds: undefined },
);
export type MessageEdit = Static<typeof MessageEdit>;

/** `POST /api/interactions/{id}/{token}/followup`. */
export const FollowupInput = ObjectOf(
  {
    content: Type.Optional(content),
    embeds: Type.Optional(embeds),
    ephemeral: Type.Optional(
      Described(
        ephemeral,
        'Whether only the person who used the command sees the message. Default: false; of the first follow-up after a defer, as the defer says.',
      ),
    ),
  },
  'One more message in answer to a command. It needs a text or an embed that shows something.',
  { embeds: undefined },
);
export type FollowupInput = Static<typeof FollowupInput>;

/** A callback body that answers with a message. */
export const MessageAnswer = ObjectOf(
  {
    type: Type.Literal('message', { description: 'Answers with a message.' }),
    content: Type.Optional(content),
    embeds: Type.Optional(embeds),
    ephemeral: Type.Optional(ephemeral),
  },
  'A first answer with a message. It needs a text or an embed that shows something.',
  { embeds: undefined },
);

/** A callback body that announces an answer within 15 minutes. */
export const DeferAnswer = ObjectOf(
  {
    type: Type.Literal('defer', { description: 'Announces an answer. Follow-ups are possible for 15 minutes.' }),
    ephemeral: Type.Optional(
      Type.Boolean({
        description:
          'The default of `ephemeral` of the first follow-up: whether only the person who used the command sees it. Default: false.',
      }),
    ),
  },
  'A first answer that announces a follow-up. Clients show that the bot is thinking.',
);

const callback = 'The first answer to a command, within 3 seconds. Exactly one is accepted.';
/** `POST /api/interactions/{id}/{token}/callback` (docs/behavior/interactions.md#first-answer). `content` and `embeds` of a defer are ignored. */
export const CallbackInput = DocumentedAs(
  ObjectOf({ ...MessageAnswer.properties, type: Choice(['message', 'defer'], { description: 'How to answer.' }) }, callback, {
    embeds: undefined,
  }),
  OneOf('type', [MessageAnswer, DeferAnswer], callback),
);
export type CallbackInput = Static<typeof CallbackInput>;
