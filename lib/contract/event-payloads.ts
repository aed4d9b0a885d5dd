// The payloads of gateway events that no route returns. Those of other events are in the files of their resources.
import { Type } from 'typebox';
import { Member, Role } from './server.ts';
import { Id, Nullable, Timestamp } from './shared.ts';
import { VisibleStatus } from './user.ts';

/** The server of an event in a channel; null in a DM. */
const channelServerId = Nullable(Id);

/** The payload of `MESSAGE_DELETE`. */
export const MessageDeleted = Type.Object(
  { id: Id, channelId: Id, serverId: channelServerId },
  { description: 'A message that was deleted. Its content is gone; its id says which message to remove.' },
);

/** The payload of `REACTION_ADD` and `REACTION_REMOVE`. */
export const ReactionChange = Type.Object(
  { channelId: Id, messageId: Id, serverId: channelServerId, userId: Id, emoji: Type.String() },
  { description: 'One reaction of one account to one message.' },
);

/** The payload of `PINS_UPDATE`. */
export const PinsChange = Type.Object(
  { channelId: Id, serverId: channelServerId },
  { description: 'A channel whose pinned messages changed. Load them again if you show them.' },
);

/** The payload of `TYPING_START`. */
export const TypingStarted = Type.Object(
  { userId: Id, at: Timestamp, channelId: Id, serverId: channelServerId },
  { description: 'An account that types a message in a channel.' },
);

/** The payload of `CHANNEL_DELETE`. */
export const ChannelDeleted = Type.Object(
  { id: Id, serverId: Id },
  { description: 'A channel that was deleted, or that the account can no longer view.' },
);

/** The payload of `MEMBER_ADD` and `MEMBER_UPDATE`. */
export const MemberChange = Type.Object({ serverId: Id, member: Member }, { description: 'A member of a server, as it is now.' });

/** The payload of `MEMBER_REMOVE`. */
export const MemberRemoved = Type.Object(
  { serverId: Id, userId: Id },
  { description: 'An account that is no longer a member of a server: it left, or it was kicked or banned.' },
);

/** The payload of `ROLE_CREATE` and `ROLE_UPDATE`. */
export const RoleChange = Type.Object({ serverId: Id, role: Role }, { description: 'A role of a server, as it is now.' });

/** The payload of `ROLE_DELETE`. */
export const RoleDeleted = Type.Object({ serverId: Id, roleId: Id }, { description: 'A role that was deleted. Its members have lost it.' });

/** The payload of `SERVER_DELETE`. */
export const ServerDeleted = Type.Object(
  { id: Id },
  { description: 'A server that the account is no longer in: it left or was removed, or the server was deleted.' },
);

/** The payload of `PRESENCE_UPDATE`. */
export const PresenceChange = Type.Object(
  { userId: Id, status: VisibleStatus, customStatus: Nullable(Type.String()) },
  { description: 'The status of an account, as others see it now.' },
);
