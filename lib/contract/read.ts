import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Id, Nullable } from './shared.ts';

/** `PUT /api/channels/{id}/read`: the newest message that was read. */
export const ReadInput = Type.Object({ messageId: Id });
export type ReadInput = Static<typeof ReadInput>;

/** How far a person has read in a channel (docs/behavior/messages.md#read-marks). */
export const ReadState = Type.Object({
  channelId: Id,
  /** null if the person has never marked the channel as read. */
  readMessageId: Nullable(Id),
  /** The newest message of the channel; null if there is none. */
  lastMessageId: Nullable(Id),
  /** The number of unread messages of others that mention the person, a role of the person, or everyone. */
  mentions: Type.Integer({ minimum: 0, maximum: limits.mentionCountMax }),
});
export type ReadState = Static<typeof ReadState>;

/** The payload of `READ_UPDATE`: a person's read mark in a channel has moved to this message. */
export const ReadUpdate = Type.Object({ channelId: Id, messageId: Id });
