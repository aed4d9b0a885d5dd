import { type Static, Type } from 'typebox';
import { Channel } from './channel.ts';
import { Interaction, InteractionUpdate } from './interaction.ts';
import { Message } from './message.ts';
import { ReadUpdate } from './read.ts';
import { Member, Role, Server, ServerSummary } from './server.ts';
import { Id, Nullable, Timestamp } from './shared.ts';
import { PublicUser, SeenStatus } from './user.ts';

/** What `REACTION_ADD` and `REACTION_REMOVE` tell. */
const Reaction = Type.Object({ channelId: Id, messageId: Id, serverId: Nullable(Id), userId: Id, emoji: Type.String() });

/** What `MEMBER_ADD` and `MEMBER_UPDATE` tell, and `ROLE_CREATE` and `ROLE_UPDATE`. */
const MemberOf = Type.Object({ serverId: Id, member: Member });
const RoleOf = Type.Object({ serverId: Id, role: Role });

/**
 * Every gateway event: its payload, and who hears it (spec, Events; decisions 7). `optIn` ones reach bots that asked for them in identify. Events of members
 * and roles go to the server's members; who joined hears SERVER_CREATE instead of their own MEMBER_ADD, and who left SERVER_DELETE. Each
 * role that another one shifts, as it is made, moved or deleted, has a ROLE_UPDATE of its own; one that is deleted leaves its members without.
 * In a server of more than 1,000 members, MEMBER_* events go to the member, to members with Manage Server, Manage Roles, Kick Members or Ban Members, to
 * sessions that watch the account, and to bots that asked for them. PRESENCE_UPDATE goes to the sessions that watch the account (op 3), and to bots that asked for
 * it in servers of up to 1,000 members. USER_UPDATE goes to everyone who shares a server or a DM with the account, and to its own sessions. Several changes of an
 * account within a second may be shown by one USER_UPDATE.
 */
export const events = {
  MESSAGE_CREATE: { data: Message, to: 'channel', optIn: false },
  MESSAGE_UPDATE: { data: Message, to: 'channel', optIn: true },
  MESSAGE_DELETE: { data: Type.Object({ id: Id, channelId: Id, serverId: Nullable(Id) }), to: 'channel', optIn: true },
  REACTION_ADD: { data: Reaction, to: 'channel', optIn: true },
  REACTION_REMOVE: { data: Reaction, to: 'channel', optIn: true },
  PINS_UPDATE: { data: Type.Object({ channelId: Id, serverId: Nullable(Id) }), to: 'channel', optIn: true },
  TYPING_START: {
    data: Type.Object({ channelId: Id, serverId: Nullable(Id), userId: Id, at: Timestamp }),
    to: 'channel',
    optIn: true,
  },
  CHANNEL_CREATE: { data: Channel, to: 'channel', optIn: true },
  CHANNEL_UPDATE: { data: Channel, to: 'channel', optIn: true },
  CHANNEL_DELETE: { data: Type.Object({ id: Id, serverId: Id }), to: 'channel', optIn: true },
  MEMBER_ADD: { data: MemberOf, to: 'server', optIn: true },
  MEMBER_UPDATE: { data: MemberOf, to: 'server', optIn: true },
  MEMBER_REMOVE: { data: Type.Object({ serverId: Id, userId: Id }), to: 'server', optIn: true },
  ROLE_CREATE: { data: RoleOf, to: 'server', optIn: true },
  ROLE_UPDATE: { data: RoleOf, to: 'server', optIn: true },
  ROLE_DELETE: { data: Type.Object({ serverId: Id, roleId: Id }), to: 'server', optIn: true },
  SERVER_CREATE: { data: Server, to: 'user', optIn: true },
  SERVER_UPDATE: { data: ServerSummary, to: 'server', optIn: true },
  SERVER_DELETE: { data: Type.Object({ id: Id }), to: 'user', optIn: true },
  PRESENCE_UPDATE: {
    data: Type.Object({ userId: Id, status: SeenStatus, customStatus: Nullable(Type.String()) }),
    to: 'user',
    optIn: true,
  },
  USER_UPDATE: { data: PublicUser, to: 'user', optIn: true },
  INTERACTION_CREATE: { data: Interaction, to: 'application', optIn: false },
  INTERACTION_UPDATE: { data: InteractionUpdate, to: 'person', optIn: false },
  READ_UPDATE: { data: ReadUpdate, to: 'person', optIn: false },
} as const;

/** The name of a gateway event, as on the wire. */
export type EventName = keyof typeof events;
/** The payload of an event. */
export type EventData<N extends EventName> = Static<(typeof events)[N]['data']>;

/** Names that a bot may ask for in identify. */
export const optInEvents: readonly EventName[] = (Object.keys(events) as EventName[]).filter((name) => events[name].optIn);
/** Names that every bot gets. */
export const botEvents: readonly EventName[] = ['MESSAGE_CREATE', 'INTERACTION_CREATE'];
