import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Described, DocumentedAs, Id, Link, Nullable, OneOf, Timestamp } from './shared.ts';
import { Author, UserSummary } from './user.ts';

/** A rich embed and its limits (docs/behavior/messages.md#embeds). `checkEmbeds` checks the limit of the whole embed (6,000 characters). */
export const Embed = Type.Object({
  title: Type.Optional(Type.String({ maxLength: limits.embedTitleChars })),
  description: Type.Optional(Type.String({ maxLength: limits.embedDescriptionChars })),
  url: Type.Optional(Link),
  color: Type.Optional(Type.Integer({ minimum: 0, maximum: 0xffffff })),
  timestamp: Type.Optional(Timestamp),
  author: Type.Optional(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: limits.embedAuthorChars }),
      url: Type.Optional(Link),
      iconUrl: Type.Optional(Link),
    }),
  ),
  footer: Type.Optional(Type.Object({ text: Type.String({ minLength: 1, maxLength: limits.embedFooterChars }) })),
  image: Type.Optional(Type.Object({ url: Link })),
  thumbnail: Type.Optional(Type.Object({ url: Link })),
  fields: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String({ minLength: 1, maxLength: limits.embedFieldNameChars }),
        value: Type.String({ minLength: 1, maxLength: limits.embedFieldValueChars }),
        inline: Type.Optional(Type.Boolean()),
      }),
      { maxItems: limits.embedFields },
    ),
  ),
});
export type Embed = Static<typeof Embed>;

const ProxyUrl = Type.String({ description: 'The same image on our own origin, where a client should load it from.' });
const EmbedImageView = Type.Optional(Type.Object({ url: Link, proxyUrl: ProxyUrl }));

/** An embed in a response: each image also has a URL on the service's own origin. In a request these fields are ignored. */
export const EmbedView = Type.Object({
  ...Embed.properties,
  author: Type.Optional(Type.Object({ ...Embed.properties.author.properties, proxyIconUrl: Type.Optional(ProxyUrl) })),
  image: EmbedImageView,
  thumbnail: EmbedImageView,
});
export type EmbedView = Static<typeof EmbedView>;

/** A file of a message (docs/behavior/messages.md#files). */
export const Attachment = Type.Object({
  id: Id,
  filename: Type.String(),
  contentType: Type.String(),
  size: Type.Integer(),
  width: Nullable(Type.Integer()),
  height: Nullable(Type.Integer()),
  url: Type.String(),
});
export type Attachment = Static<typeof Attachment>;

/** The current state of the message that a reply answers. */
export const ReplyPreview = Type.Object({ id: Id, author: Author, content: Type.String(), hasAttachments: Type.Boolean() });
export type ReplyPreview = Static<typeof ReplyPreview>;

/**
 * A message (docs/behavior/messages.md#the-message). `nonce` is only in the 201 response and in MESSAGE_CREATE, `serverId` only in events, and `ephemeral` only
 * in answers that are not stored.
 */
export const Message = Type.Object({
  id: Id,
  channelId: Id,
  author: Author,
  content: Type.String(),
  createdAt: Timestamp,
  editedAt: Nullable(Timestamp),
  attachments: Type.Array(Attachment, { maxItems: limits.filesPerMessage }),
  embeds: Type.Array(EmbedView, { maxItems: limits.embedsShown }),
  reactions: Type.Array(Type.Object({ emoji: Type.String(), count: Type.Integer(), me: Type.Boolean() }), {
    maxItems: limits.reactionsPerMessage,
  }),
  mentions: Type.Array(Id, { maxItems: limits.mentionsPerMessage }),
  mentionRoles: Type.Array(Id, { maxItems: limits.mentionsPerMessage }),
  mentionEveryone: Type.Boolean(),
  replyDeleted: Type.Boolean(),
  pinned: Type.Boolean(),
  crossposted: Type.Boolean(),
  reply: Type.Optional(ReplyPreview),
  interaction: Type.Optional(Type.Object({ user: UserSummary, name: Type.String() })),
  serverId: Type.Optional(Nullable(Id)),
  nonce: Type.Optional(Type.String()),
  ephemeral: Type.Optional(Type.Boolean()),
});
export type Message = Static<typeof Message>;

const content = Type.String({ maxLength: limits.messageChars });
const embeds = Type.Array(Embed, { maxItems: limits.embedsPerMessage });

/** `POST /api/channels/{channelId}/messages` as JSON. */
export const MessageInput = Type.Object({
  content: Type.Optional(content),
  embeds: Type.Optional(embeds),
  replyTo: Type.Optional(Nullable(Id)),
  mentionReply: Type.Optional(Type.Boolean()),
  nonce: Type.Optional(Type.String({ maxLength: limits.nonceChars })),
});
export type MessageInput = Static<typeof MessageInput>;

/** `PATCH /api/channels/{channelId}/messages/{messageId}`. Omitted fields do not change. */
export const MessageEdit = Type.Object({ content: Type.Optional(content), embeds: Type.Optional(embeds) });
export type MessageEdit = Static<typeof MessageEdit>;

/** `POST /api/interactions/{id}/{token}/followup`. */
export const FollowupInput = Type.Object({
  content: Type.Optional(content),
  embeds: Type.Optional(embeds),
  ephemeral: Type.Optional(Type.Boolean()),
});
export type FollowupInput = Static<typeof FollowupInput>;

/** A callback body that answers with a message. */
export const MessageAnswer = Type.Object({
  type: Type.Literal('message', { description: 'Answers with a message.' }),
  ...FollowupInput.properties,
});

/** A callback body that announces an answer within 15 minutes. */
export const DeferAnswer = Type.Object({
  type: Type.Literal('defer', { description: 'Announces an answer. Follow-ups are possible for 15 minutes.' }),
  ephemeral: Type.Optional(
    Described(
      Type.Boolean(),
      'Whether only the person who used the command sees the first follow-up, if that does not say so itself. Default: false.',
    ),
  ),
});

/** `POST /api/interactions/{id}/{token}/callback` (docs/behavior/interactions.md#first-answer). `content` and `embeds` of a defer are ignored. */
export const CallbackInput = DocumentedAs(
  Type.Object({ ...FollowupInput.properties, type: Choice(['message', 'defer']) }),
  OneOf('type', [MessageAnswer, DeferAnswer]),
);
export type CallbackInput = Static<typeof CallbackInput>;
