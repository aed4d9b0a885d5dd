import { Schema } from 'mongoose';
import type { Attachment, Embed } from '../../contract/message.ts';
import type { Author } from '../../contract/user.ts';
import { indexOutbox, type Outbox } from './outbox.ts';

/** A file as it stands in its message. The address is made from `key` when it is shown. */
export interface StoredAttachment extends Omit<Attachment, 'url'> {
  /** 128 random bits. Whoever knows them can read the file (docs/behavior/messages.md#serving-files). */
  key: string;
}

/** One emoji on a message and who reacted with it, oldest first. One document holds them all, so that every rule of theirs is one conditional update. */
export interface StoredReaction {
  /** What makes two emoji the same: without variation selectors, or the id of a custom one. */
  identity: string;
  /** As it is shown: that of the first reaction. */
  emoji: string;
  users: string[];
}

/** A message. `_id` orders it in its channel. A deleted one keeps only its ids until its event is delivered. */
export interface MessageDoc extends Outbox {
  _id: string;
  channelId: string;
  /** null in DMs. */
  serverId: string | null;
  authorId: string;
  /** How the author is shown, for one that is no account: a copy's, later a webhook's. */
  face?: Omit<Author, 'id'>;
  content: string;
  /** Rich embeds; link previews stand apart. */
  embeds: Embed[];
  /** Link previews, in the order of the links; absent when there are none. */
  previews?: Embed[];
  /** Since when previews are to be fetched; absent when none are. */
  previewsAt?: Date;
  attachments: StoredAttachment[];
  /** Absent when nobody reacted. */
  reactions?: StoredReaction[];
  pinnedAt?: Date;
  /** Place among the channel's pins, 0-49: the unique index on it is the cap of 50. */
  pinSlot?: number;
  crossposted?: true;
  /** When copies that are owed to followers last moved on; absent when none are owed. */
  crosspostAt?: Date;
  /** The last follower that has its copy: where the work goes on after a crash. */
  crosspostTo?: string;
  /** The message that this one is a copy of. */
  copyOf?: string;
  /** The notice that this one is: unique, so that it is posted once. */
  noticeId?: string;
  /** What a create that may be run again calls its message, as the message's own id is made anew for every try: unique, so that it is stored once. */
  createId?: string;
  /** Whether the channel is a thread: posting there wakes it. */
  thread?: true;
  mentions: string[];
  mentionRoles: string[];
  mentionEveryone: boolean;
  /** Whether it mentions anybody: unread mentions are looked for among these. */
  pings?: true;
  /** The author of the message replied to, when the reply pings them: stays mentioned however the content is edited. */
  replyPing?: string;
  /** The message this one replies to; whether it is still there is seen when it is read. */
  replyTo: string | null;
  /** The slash command this answers. */
  interaction: { id: string; userId: string; name: string } | null;
  createdAt: Date;
  editedAt: Date | null;
  /** A tombstone: hidden from every read, removed when its MESSAGE_DELETE is delivered. */
  deleted?: true;
}

/** A message that is not stored yet: it gets its id when it is. */
export type MessageDraft = Omit<MessageDoc, '_id' | 'createdAt'>;

/** The index of the messages that mention anybody. Named in the query, so that no planner reads all that is unread instead. */
export const pingsIndex = 'pings';

export const messageSchema = new Schema<MessageDoc>(
  {
    _id: String,
    channelId: String,
    serverId: String,
    authorId: String,
    face: Schema.Types.Mixed,
    content: String,
    embeds: [Schema.Types.Mixed],
    previews: { type: [Schema.Types.Mixed], default: undefined },
    previewsAt: Date,
    attachments: [Schema.Types.Mixed],
    reactions: { type: [Schema.Types.Mixed], default: undefined },
    pinnedAt: Date,
    pinSlot: Number,
    crossposted: Boolean,
    crosspostAt: Date,
    crosspostTo: String,
    copyOf: String,
    noticeId: String,
    createId: String,
    thread: Boolean,
    mentions: [String],
    mentionRoles: [String],
    mentionEveryone: Boolean,
    pings: Boolean,
    replyPing: String,
    replyTo: String,
    interaction: Schema.Types.Mixed,
    createdAt: Date,
    editedAt: Date,
    deleted: Boolean,
    ob: [Schema.Types.Mixed],
    obAt: Date,
  },
  { collection: 'messages', versionKey: false, minimize: false },
);
messageSchema.index({ channelId: 1, _id: 1 });
messageSchema.index({ channelId: 1, pinSlot: 1 }, { unique: true, partialFilterExpression: { pinSlot: { $exists: true } } });
messageSchema.index({ copyOf: 1, channelId: 1 }, { unique: true, partialFilterExpression: { copyOf: { $exists: true } } });
messageSchema.index({ noticeId: 1 }, { unique: true, partialFilterExpression: { noticeId: { $exists: true } } });
messageSchema.index({ createId: 1 }, { unique: true, partialFilterExpression: { createId: { $exists: true } } });
messageSchema.index({ previewsAt: 1 }, { partialFilterExpression: { previewsAt: { $exists: true } } });
messageSchema.index({ crosspostAt: 1 }, { partialFilterExpression: { crosspostAt: { $exists: true } } });
messageSchema.index({ channelId: 1, _id: 1, pings: 1 }, { name: pingsIndex, partialFilterExpression: { pings: { $exists: true } } });
indexOutbox(messageSchema, { channelId: 1, _id: 1 });
