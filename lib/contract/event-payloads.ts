// The payloads of gateway events that no route returns. Those of other events are in the files of their resources.
import { Type } from 'typebox';
import { Member } from './member.ts';
import { Described, ObjectOf } from './schemas.ts';
import { Role } from './server.ts';
import { IdOf, Nullable, Timestamp } from './shared.ts';
import { customStatusProperty, VisibleStatus } from './user.ts';

/** The channel of an event and its server. */
const channelProperties = {
  channelId: IdOf('channel', 'The channel.'),
  serverId: Nullable(IdOf('server', 'The server.'), 'The server of the channel; null in a direct message.'),
};

/** The payload of `MESSAGE_DELETE`. */
export const MessageDeleted = ObjectOf(
  { id: IdOf('message', 'The message that was deleted.'), ...channelProperties },
  'A message that was deleted. Its content is gone; its id says which message to remove.',
);

/** The payload of `REACTION_ADD` and `REACTION_REMOVE`. */
export const ReactionChange = ObjectOf(
  {
    channelId: channelProperties.channelId,
    messageId: IdOf('message', 'The message.'),
    serverId: channelProperties.serverId,
    userId: IdOf('user', 'Who reacted.'),
    emoji: Type.String({ description: 'A Unicode emoji, or a custom emoji as `name:id`.', examples: ['👍'] }),
  },
  'One reaction of one account to one message.',
);

/** The payload of `PINS_UPDATE`. */
export const PinsChange = ObjectOf(channelProperties, 'A channel whose pinned messages changed. Load them again if you show them.');

/** The payload of `TYPING_START`. */
export const TypingStarted = ObjectOf(
  { userId: IdOf('user', 'Who types.'), at: Described(Timestamp, 'When the account typed.'), ...channelProperties },
  'An account that types a message in a channel.',
);

/** The payload of `CHANNEL_DELETE`. */
export const ChannelDeleted = ObjectOf(
  { id: IdOf('channel', 'The channel that is gone.'), serverId: IdOf('server', 'The server of the channel.') },
  'A channel that was deleted, or that the account can no longer view.',
);

/** The payload of `MEMBER_ADD` and `MEMBER_UPDATE`. */
export const MemberChange = ObjectOf({ serverId: IdOf('server', 'The server.'), member: Member }, 'A member of a server, as it is now.');

/** The payload of `MEMBER_REMOVE`. */
export const MemberRemoved = ObjectOf(
  { serverId: IdOf('server', 'The server.'), userId: IdOf('user', 'Who is no longer a member.') },
  'An account that is no longer a member of a server: it left, or it was kicked or banned.',
);

/** The payload of `ROLE_CREATE` and `ROLE_UPDATE`. */
export const RoleChange = ObjectOf({ serverId: IdOf('server', 'The server.'), role: Role }, 'A role of a server, as it is now.');

/** The payload of `ROLE_DELETE`. */
export const RoleDeleted = ObjectOf(
  { serverId: IdOf('server', 'The server.'), roleId: IdOf('role', 'The role that was deleted.') },
  'A role that was deleted. Its members have lost it.',
);

/** The payload of `SERVER_DELETE`. */
export const ServerDeleted = ObjectOf(
  { id: IdOf('server', 'The server.') },
  'A server that the account is no longer in: it left or was removed, or the server was deleted.',
);

/** The payload of `PRESENCE_UPDATE`. */
export const PresenceChange = ObjectOf(
  { userId: IdOf('user', 'The account.'), status: VisibleStatus, ...customStatusProperty },
  'The status of an account, as others see it now.',
);
