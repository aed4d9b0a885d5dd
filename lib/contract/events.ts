import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import { Channel } from './channel.ts';
import { Interaction, InteractionUpdate } from './interaction.ts';
import { Message } from './message.ts';
import { ReadUpdate } from './read.ts';
import { Member, Role, Server, ServerSummary } from './server.ts';
import { Id, Nullable, Timestamp } from './shared.ts';
import { PublicUser, VisibleStatus } from './user.ts';

/** The payload of `REACTION_ADD` and `REACTION_REMOVE`. */
const ReactionPayload = Type.Object({ channelId: Id, messageId: Id, serverId: Nullable(Id), userId: Id, emoji: Type.String() });

/** The payload of an event in a channel; `serverId` is null in a DM. */
const ChannelPayload = <P extends TProperties>(properties: P) => Type.Object({ ...properties, channelId: Id, serverId: Nullable(Id) });

/** The payloads of `MEMBER_ADD` and `MEMBER_UPDATE`, and of `ROLE_CREATE` and `ROLE_UPDATE`. */
const MemberPayload = Type.Object({ serverId: Id, member: Member });
const RolePayload = Type.Object({ serverId: Id, role: Role });

/** The declaration of an event. */
export interface EventDefinition {
  /** The schema of the payload. */
  data: TSchema;
  /**
   * The log that keeps the event for resumes: the server's or the account's. `channel`: the log of the channel's server, or those of both accounts of a DM.
   * null: no log, so sessions that are not connected miss the event.
   */
  place: 'server' | 'account' | 'channel' | null;
  /**
   * The recipients. `channel`: everyone who may view the channel. `members`: all members of a server of up to 1,000; in a larger server the member concerned,
   * members with Manage Server, Manage Roles, Kick Members or Ban Members, sessions that watch the account, and bots that asked for the event. `server`: all
   * members. `account`: all sessions of the account. `session`: one of them. `custom`: see PRESENCE_UPDATE and USER_UPDATE at `events`.
   */
  audience: 'channel' | 'members' | 'server' | 'account' | 'session' | 'custom';
  /** Whether a bot receives the event if, and only if, it asks for it in identify. If false, see `botEvents`. */
  optIn: boolean;
  /** `start`: the event announces a new object. `end`: the object is gone. Pending events of an object that was never announced are not sent. */
  lifecycle?: 'start' | 'end';
  /** The payload is the state of the object when the event is sent. Of several such pending events of one object, only the last is sent. */
  coalesce?: true;
  /** The metric of delivery times includes the event. */
  isTimed?: true;
  /** The gateway adds the interaction's token, which is not stored. */
  hasToken?: true;
}

const defineEvent = <S extends TSchema>(definition: EventDefinition & { data: S }): EventDefinition & { data: S } => definition;

/**
 * Every gateway event. An account that joins a server receives SERVER_CREATE instead of its own MEMBER_ADD, and one that leaves receives SERVER_DELETE. When a
 * role is created, moved or deleted, each other role whose position changes has its own ROLE_UPDATE. A deleted role is removed from its members without further
 * events. PRESENCE_UPDATE goes to the sessions that watch the account (op 3), and to bots that asked for it in servers of up to 1,000 members. USER_UPDATE goes
 * to everyone who shares a server or a DM with the account, and to its own sessions. One USER_UPDATE may cover all changes of an account within a second.
 */
export const events = {
  MESSAGE_CREATE: defineEvent({ data: Message, place: 'channel', audience: 'channel', optIn: false, lifecycle: 'start', isTimed: true }),
  MESSAGE_UPDATE: defineEvent({ data: Message, place: 'channel', audience: 'channel', optIn: true, coalesce: true }),
  MESSAGE_DELETE: defineEvent({ data: ChannelPayload({ id: Id }), place: 'channel', audience: 'channel', optIn: true, lifecycle: 'end' }),
  REACTION_ADD: defineEvent({ data: ReactionPayload, place: 'channel', audience: 'channel', optIn: true }),
  REACTION_REMOVE: defineEvent({ data: ReactionPayload, place: 'channel', audience: 'channel', optIn: true }),
  PINS_UPDATE: defineEvent({ data: ChannelPayload({}), place: 'channel', audience: 'channel', optIn: true }),
  TYPING_START: defineEvent({ data: ChannelPayload({ userId: Id, at: Timestamp }), place: 'channel', audience: 'channel', optIn: true }),
  CHANNEL_CREATE: defineEvent({ data: Channel, place: 'server', audience: 'channel', optIn: true, lifecycle: 'start' }),
  CHANNEL_UPDATE: defineEvent({ data: Channel, place: 'server', audience: 'channel', optIn: true, coalesce: true }),
  CHANNEL_DELETE: defineEvent({
    data: Type.Object({ id: Id, serverId: Id }),
    place: 'server',
    audience: 'channel',
    optIn: true,
    lifecycle: 'end',
  }),
  MEMBER_ADD: defineEvent({ data: MemberPayload, place: 'server', audience: 'members', optIn: true, lifecycle: 'start' }),
  MEMBER_UPDATE: defineEvent({ data: MemberPayload, place: 'server', audience: 'members', optIn: true, coalesce: true }),
  MEMBER_REMOVE: defineEvent({
    data: Type.Object({ serverId: Id, userId: Id }),
    place: 'server',
    audience: 'members',
    optIn: true,
    lifecycle: 'end',
  }),
  ROLE_CREATE: defineEvent({ data: RolePayload, place: 'server', audience: 'server', optIn: true }),
  ROLE_UPDATE: defineEvent({ data: RolePayload, place: 'server', audience: 'server', optIn: true, coalesce: true }),
  ROLE_DELETE: defineEvent({ data: Type.Object({ serverId: Id, roleId: Id }), place: 'server', audience: 'server', optIn: true }),
  SERVER_CREATE: defineEvent({ data: Server, place: 'account', audience: 'account', optIn: true, lifecycle: 'start' }),
  SERVER_UPDATE: defineEvent({ data: ServerSummary, place: 'server', audience: 'server', optIn: true, coalesce: true }),
  SERVER_DELETE: defineEvent({ data: Type.Object({ id: Id }), place: 'account', audience: 'account', optIn: true, lifecycle: 'end' }),
  PRESENCE_UPDATE: defineEvent({
    data: Type.Object({ userId: Id, status: VisibleStatus, customStatus: Nullable(Type.String()) }),
    place: null,
    audience: 'custom',
    optIn: true,
  }),
  USER_UPDATE: defineEvent({ data: PublicUser, place: null, audience: 'custom', optIn: true, coalesce: true }),
  INTERACTION_CREATE: defineEvent({ data: Interaction, place: 'account', audience: 'session', optIn: false, hasToken: true }),
  INTERACTION_UPDATE: defineEvent({ data: InteractionUpdate, place: 'account', audience: 'account', optIn: false }),
  READ_UPDATE: defineEvent({ data: ReadUpdate, place: 'account', audience: 'account', optIn: false }),
} as const;

/** The name of a gateway event in the protocol. */
export type EventName = keyof typeof events;
/** The payload of an event. */
export type EventData<N extends EventName> = Static<(typeof events)[N]['data']>;

/** The part of a payload that the log keeps. The gateway adds the rest when it sends the event: an interaction's token, or the current state of a server. */
export type LoggedData<N extends EventName> = N extends 'INTERACTION_CREATE'
  ? Omit<EventData<'INTERACTION_CREATE'>, 'token'>
  : N extends 'SERVER_CREATE'
    ? Pick<EventData<'SERVER_CREATE'>, 'id'>
    : EventData<N>;

/** The declaration of the event `name`. */
export const getEventDefinition = (name: EventName): EventDefinition => events[name];

/** Whether the event means that its account joined (`start`) or left (`end`) a server. The account's sessions then subscribe to the server or unsubscribe. */
export const getMembershipChange = (name: EventName): EventDefinition['lifecycle'] =>
  events[name].place === 'account' ? getEventDefinition(name).lifecycle : undefined;

/** The events that a bot may ask for in identify. */
export const optInEvents: readonly EventName[] = (Object.keys(events) as EventName[]).filter((name) => events[name].optIn);
/** The events that every bot receives. */
export const botEvents: readonly EventName[] = ['MESSAGE_CREATE', 'INTERACTION_CREATE'];
