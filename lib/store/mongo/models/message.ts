import { Schema } from 'mongoose';
import type { Embed } from '../../../contract/embed.ts';
import type { Attachment } from '../../../contract/message.ts';
import type { Author } from '../../../contract/user.ts';
import { indexOutbox, type MessageEvent, type Outbox } from './outbox.ts';

/** An attachment as it is stored in its message. Its URL is made from `key` when the message is shown. */
export interface StoredAttachment extends Omit<Attachment, 'url'> {
  /** 128 random bits. Everyone who knows them can read the file (docs/behavior/messages.md#serving-files). */
  key: string;
}

/** One emoji on a message, and how many accounts reacted with it. Who they are is in the collection `reactions`. */
export interface ReactionCounter {
  /** The key by which two emoji are compared: the emoji without variation selectors, or the id of a custom one. */
  identity: string;
  /** The emoji as it is shown, which is that of the first reaction. */
  emoji: string;
  count: number;
}

/** A message. The messages of a channel are ordered by `_id`. A deleted message keeps only its ids until its event is relayed. */
export interface MessageDoc extends Outbox<MessageEvent> {
  _id: string;
  channelId: string;
  /** null in DMs. */
  serverId: string | null;
  authorId: string;
  /** How the author is shown, if it is not an account: for copies and for webhook messages. */
  face?: Omit<Author, 'id'>;
  content: string;
  /** Rich embeds. Link previews are in `previews`. */
  embeds: Embed[];
  /** Link previews, in the order of the links; absent when there are none. */
  previews?: Embed[];
  /** Since when link previews wait to be fetched; absent when none do. */
  previewsAt?: Date;
  attachments: StoredAttachment[];
  /** In the order in which the emoji were added. Absent or empty when nobody reacted. */
  reactions?: ReactionCounter[];
  /** The sum of the counters. Absent if nobody ever reacted. A tombstone keeps it until its reactions are deleted. */
  reactionCount?: number;
  pinnedAt?: Date;
  /** Slot among the channel's pins, 0-49. The unique index on it enforces the limit of 50. */
  pinSlot?: number;
  crossposted?: true;
  /** When the pending copies to followers last made progress; absent when none are pending. */
  crosspostAt?: Date;
  /** The last follower that has its copy. After a crash, the work continues from there. */
  crosspostTo?: string;
  /** The message that this one is a copy of. */
  copyOf?: string;
  /** The notice that this message is. It is unique in the channel, so that the notice is posted once. */
  noticeId?: string;
  /**
   * The id of a create request that may be retried. Each try gives the message a new `_id`; because this field is unique in the channel, the message is stored
   * only once.
   */
  createId?: string;
  /** Whether the channel is a thread. A post unarchives its thread. */
  thread?: true;
  mentions: string[];
  mentionRoles: string[];
  mentionEveryone: boolean;
  /** Whether it mentions anybody. Unread mentions are searched among these messages. */
  pings?: true;
  /** The author of the message replied to, if the reply pings them. They stay mentioned when the content is edited. */
  replyPing?: string;
  /** The message that this one replies to. It may have been deleted. */
  replyTo: string | null;
  /** The slash command that this message answers. */
  interaction: { id: string; userId: string; name: string } | null;
  createdAt: Date;
  editedAt: Date | null;
  /** Its MESSAGE_CREATE, with `nonce` and `trace`, is not in the outbox: it is pending until the sweep of new messages has passed (docs/delivery.md#new-messages). */
  isNew?: true;
  nonce?: string;
  trace?: string;
  /** A tombstone: it is hidden from every read, and removed once its MESSAGE_DELETE is relayed. */
  deleted?: true;
}

/** A message before it is stored; it gets its id when it is stored. */
export type MessageDraft = Omit<MessageDoc, '_id' | 'createdAt'>;

/** Matches the message that a job names. Jobs of earlier versions have no `channelId`; with it, a sharded database asks one shard. */
export const toMessageKey = (messageId: string, channelId?: string): { _id: string; channelId?: string } => ({
  _id: messageId,
  ...(channelId === undefined ? {} : { channelId }),
});

/** The index of the messages that mention anybody. The query names it, so that the query planner does not read all unread messages instead. */
export const pingsIndex = 'pings';

/** The index of the messages with pending copies, by server. The query names it, so that the query planner does not read the messages by their ids instead. */
export const crosspostsIndex = 'pendingCrossposts';

/** The index of the tombstones whose reactions are still to be deleted. The query names it. */
export const deletedReactionsIndex = 'deletedReactions';

export const messageSchema = new Schema<MessageDoc>({}, { collection: 'messages', shardKey: { channelId: 'hashed' } });
messageSchema.index({ channelId: 1, _id: 1 });
messageSchema.index({ authorId: 1, _id: 1 });
messageSchema.index({ channelId: 1, pinSlot: 1 }, { unique: true, partialFilterExpression: { pinSlot: { $exists: true } } });
messageSchema.index({ channelId: 1, copyOf: 1 }, { unique: true, partialFilterExpression: { copyOf: { $exists: true } } });
messageSchema.index({ copyOf: 1 }, { partialFilterExpression: { copyOf: { $exists: true }, deleted: true } });
messageSchema.index({ channelId: 1, noticeId: 1 }, { unique: true, partialFilterExpression: { noticeId: { $exists: true } } });
messageSchema.index({ channelId: 1, createId: 1 }, { unique: true, partialFilterExpression: { createId: { $exists: true } } });
messageSchema.index({ previewsAt: 1 }, { partialFilterExpression: { previewsAt: { $exists: true } } });
messageSchema.index({ serverId: 1, _id: 1 }, { name: crosspostsIndex, partialFilterExpression: { crosspostAt: { $exists: true } } });
messageSchema.index({ channelId: 1, _id: 1, pings: 1 }, { name: pingsIndex, partialFilterExpression: { pings: { $exists: true } } });
messageSchema.index(
  { channelId: 1, _id: 1, reactionCount: 1 },
  { name: deletedReactionsIndex, partialFilterExpression: { deleted: true, reactionCount: { $exists: true } } },
);
indexOutbox(messageSchema, { channelId: 1, _id: 1 });
