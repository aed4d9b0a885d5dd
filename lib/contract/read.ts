import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { ObjectOf } from './schemas.ts';
import { IdOf, Nullable } from './shared.ts';

/** `PUT /api/channels/{id}/read`: the newest message that was read. */
export const ReadInput = ObjectOf(
  { messageId: IdOf('message', 'The newest message that was read. An id more than 60 seconds in the future is refused.') },
  'Marks a channel as read. The mark never moves back.',
);
export type ReadInput = Static<typeof ReadInput>;

/** How far a person has read in a channel (docs/behavior/messages.md#read-marks). */
export const ReadState = ObjectOf(
  {
    channelId: IdOf('channel', 'The channel, thread or direct message channel.'),
    readMessageId: Nullable(
      IdOf('message', 'The newest message that was read.'),
      'The newest message that was read; null if the person has never marked the channel as read.',
    ),
    unreadAfterId: IdOf(
      'message',
      'Messages of others with greater ids are unread: the read mark, or without one an id of the time when the person joined the server. Zeros in a direct message channel without a mark.',
    ),
    lastMessageId: Nullable(IdOf('message', 'The newest message.'), 'The newest message of the channel; null if there is none.'),
    mentions: Type.Integer({
      minimum: 0,
      maximum: limits.mentionCountMax,
      description: `The number of unread messages of others that mention the person, a role of the person, or everyone. At most ${limits.mentionCountMax} are counted.`,
    }),
    mentionMessageIds: Type.Array(IdOf('message', 'An unread message that mentions the person.'), {
      maxItems: limits.mentionCountMax,
      description: 'The messages that `mentions` counts, the newest ones, oldest first.',
    }),
  },
  'How far a person has read in a channel.',
);
export type ReadState = Static<typeof ReadState>;

/** The payload of `READ_UPDATE`: a person's read mark in a channel has moved to this message. */
export const ReadUpdate = ObjectOf(
  { channelId: IdOf('channel', 'The channel that was read.'), messageId: IdOf('message', 'The newest message that was read.') },
  'The read mark of a person in a channel has moved to this message.',
);
