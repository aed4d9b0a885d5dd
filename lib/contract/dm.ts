import { type Static, Type } from 'typebox';
import { Id, Nullable } from './shared.ts';
import { SeenStatus, Tag, UserFace } from './user.ts';

/** A direct message channel as one participant sees it. `recipient` is the other participant (docs/behavior/accounts.md#direct-messages). */
export const DmChannel = Type.Object({
  id: Id,
  recipient: Type.Object({
    id: UserFace.properties.id,
    username: UserFace.properties.username,
    displayName: UserFace.properties.displayName,
    status: SeenStatus,
    customStatus: Nullable(Type.String()),
    /** Absent if the account has no tag, as in `Author`. Nobody can post in a DM whose recipient has the tag `system`. */
    tag: Type.Optional(Tag),
  }),
  lastMessageId: Nullable(Id),
});
export type DmChannel = Static<typeof DmChannel>;

/** `POST /api/users/@me/channels`. */
export const DmInput = Type.Object({ recipientId: Id });
export type DmInput = Static<typeof DmInput>;
