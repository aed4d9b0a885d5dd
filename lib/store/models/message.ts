import { Schema } from 'mongoose';
import type { Attachment, Embed } from '../../contract/message.ts';
import { indexOutbox, type Outbox } from './outbox.ts';

/** A message. `_id` orders it in its channel. A deleted one keeps only its ids until its event is delivered. */
export interface MessageDoc extends Outbox {
  _id: string;
  channelId: string;
  /** null in DMs. */
  serverId: string | null;
  authorId: string;
  content: string;
  embeds: Embed[];
  attachments: Attachment[];
  mentions: string[];
  mentionRoles: string[];
  mentionEveryone: boolean;
  /** The message this one replies to; whether it is still there is seen when it is read. */
  replyTo: string | null;
  /** The slash command this answers. */
  interaction: { id: string; userId: string; name: string } | null;
  createdAt: Date;
  editedAt: Date | null;
  /** A tombstone: hidden from every read, removed when its MESSAGE_DELETE is delivered. */
  deleted?: true;
}

export const messageSchema = new Schema<MessageDoc>(
  {
    _id: String,
    channelId: String,
    serverId: String,
    authorId: String,
    content: String,
    embeds: [Schema.Types.Mixed],
    attachments: [Schema.Types.Mixed],
    mentions: [String],
    mentionRoles: [String],
    mentionEveryone: Boolean,
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
indexOutbox(messageSchema, { channelId: 1, _id: 1 });
