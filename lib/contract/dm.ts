import { type Static, Type } from 'typebox';
import { Id, Nullable } from './shared.ts';
import { Tag, UserSummary, VisibleStatus } from './user.ts';

/** A direct message channel as one participant sees it. `recipient` is the other participant (docs/behavior/accounts.md#direct-messages). */
export const DmChannel = Type.Object({
  id: Id,
  recipient: Type.Object({
    id: UserSummary.properties.id,
    username: UserSummary.properties.username,
    displayName: UserSummary.properties.displayName,
    status: VisibleStatus,
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
