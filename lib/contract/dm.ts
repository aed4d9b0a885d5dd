import { type Static, Type } from 'typebox';
import { Described, ObjectOf } from './schemas.ts';
import { IdOf, Nullable } from './shared.ts';
import { customStatusProperty, Tag, UserSummary, VisibleStatus } from './user.ts';

/** The other participant of a direct message channel. Nobody can post in a DM whose recipient has the tag `system`. */
export const DmRecipient = ObjectOf(
  {
    id: UserSummary.properties.id,
    username: UserSummary.properties.username,
    displayName: UserSummary.properties.displayName,
    status: VisibleStatus,
    ...customStatusProperty,
    tag: Type.Optional(
      Described(Tag, 'The tag beside the name; absent if the account has none. Nobody can post to an account with the tag `system`.'),
    ),
  },
  'The other participant of a direct message channel.',
);

/** A direct message channel as one participant sees it. `recipient` is the other participant (docs/behavior/accounts.md#direct-messages). */
export const DmChannel = ObjectOf(
  {
    id: IdOf('channel', 'The id of the channel. The routes of messages take it.'),
    recipient: DmRecipient,
    lastMessageId: Nullable(IdOf('message', 'The id of the newest message.'), 'The id of the newest message; null if there is none.'),
  },
  'A direct message channel as one of its two participants sees it.',
);
export type DmChannel = Static<typeof DmChannel>;

/** `POST /api/users/@me/channels`. */
export const DmInput = ObjectOf(
  { recipientId: IdOf('user', 'The account to write to. It must share a server with the caller, unless the channel exists already.') },
  'Opens a direct message channel.',
);
export type DmInput = Static<typeof DmInput>;
