import type { Static } from 'typebox';
import { Channel } from './channel.ts';
import { defineEvent, type EventDefinition } from './event-definition.ts';
import {
  ChannelDeleted,
  MemberChange,
  MemberRemoved,
  MessageDeleted,
  PinsChange,
  PresenceChange,
  ReactionChange,
  RoleChange,
  RoleDeleted,
  ServerDeleted,
  TypingStarted,
} from './event-payloads.ts';
import { Interaction, InteractionUpdate } from './interaction.ts';
import { Message } from './message.ts';
import { ReadUpdate } from './read.ts';
import { Server, ServerSummary } from './server.ts';
import { PublicUser } from './user.ts';

/**
 * Every gateway event. An account that joins a server receives SERVER_CREATE instead of its own MEMBER_ADD, and one that leaves receives SERVER_DELETE. When a
 * role is created, moved or deleted, each other role whose position changes has its own ROLE_UPDATE. A deleted role is removed from its members without further
 * events. PRESENCE_UPDATE goes to the sessions that watch the account (op 3), and to bots that asked for it in servers of up to 1,000 members. USER_UPDATE goes
 * to everyone who shares a server or a DM with the account, and to its own sessions. One USER_UPDATE may cover all changes of an account within a second.
 */
export const events = {
  MESSAGE_CREATE: defineEvent({
    summary: 'A message was posted.',
    data: Message,
    place: 'channel',
    audience: 'channel',
    optIn: false,
    lifecycle: 'start',
    isTimed: true,
  }),
  MESSAGE_UPDATE: defineEvent({
    summary: 'A message changed: it was edited or published, or its link previews or the sizes of its images arrived.',
    data: Message,
    place: 'channel',
    audience: 'channel',
    optIn: true,
    coalesce: true,
  }),
  MESSAGE_DELETE: defineEvent({
    summary: 'A message was deleted.',
    data: MessageDeleted,
    place: 'channel',
    audience: 'channel',
    optIn: true,
    lifecycle: 'end',
  }),
  REACTION_ADD: defineEvent({
    summary: 'An account reacted to a message.',
    data: ReactionChange,
    place: 'channel',
    audience: 'channel',
    optIn: true,
  }),
  REACTION_REMOVE: defineEvent({
    summary: 'A reaction was removed from a message.',
    data: ReactionChange,
    place: 'channel',
    audience: 'channel',
    optIn: true,
  }),
  PINS_UPDATE: defineEvent({
    summary: 'The pinned messages of a channel changed.',
    data: PinsChange,
    place: 'channel',
    audience: 'channel',
    optIn: true,
  }),
  TYPING_START: defineEvent({
    summary: 'An account types in a channel.',
    data: TypingStarted,
    place: 'channel',
    audience: 'channel',
    optIn: true,
  }),
  CHANNEL_CREATE: defineEvent({
    summary: 'A channel was created, or became visible to the account.',
    data: Channel,
    place: 'server',
    audience: 'channel',
    optIn: true,
    lifecycle: 'start',
  }),
  CHANNEL_UPDATE: defineEvent({
    summary: 'A channel changed.',
    data: Channel,
    place: 'server',
    audience: 'channel',
    optIn: true,
    coalesce: true,
  }),
  CHANNEL_DELETE: defineEvent({
    summary: 'A channel was deleted, or is no longer visible to the account.',
    data: ChannelDeleted,
    place: 'server',
    audience: 'channel',
    optIn: true,
    lifecycle: 'end',
  }),
  MEMBER_ADD: defineEvent({
    summary: 'An account joined a server.',
    data: MemberChange,
    place: 'server',
    audience: 'members',
    optIn: true,
    lifecycle: 'start',
  }),
  MEMBER_UPDATE: defineEvent({
    summary: 'A member changed: its roles, or whether it owns the server.',
    data: MemberChange,
    place: 'server',
    audience: 'members',
    optIn: true,
    coalesce: true,
  }),
  MEMBER_REMOVE: defineEvent({
    summary: 'A member left a server, or was kicked or banned.',
    data: MemberRemoved,
    place: 'server',
    audience: 'members',
    optIn: true,
    lifecycle: 'end',
  }),
  ROLE_CREATE: defineEvent({
    summary: 'A role was created.',
    data: RoleChange,
    place: 'server',
    audience: 'server',
    optIn: true,
  }),
  ROLE_UPDATE: defineEvent({
    summary: 'A role changed, or its position did.',
    data: RoleChange,
    place: 'server',
    audience: 'server',
    optIn: true,
    coalesce: true,
  }),
  ROLE_DELETE: defineEvent({
    summary: 'A role was deleted.',
    data: RoleDeleted,
    place: 'server',
    audience: 'server',
    optIn: true,
  }),
  SERVER_CREATE: defineEvent({
    summary: 'The account joined a server.',
    data: Server,
    place: 'account',
    audience: 'account',
    optIn: true,
    lifecycle: 'start',
  }),
  SERVER_UPDATE: defineEvent({
    summary: 'A server changed.',
    data: ServerSummary,
    place: 'server',
    audience: 'server',
    optIn: true,
    coalesce: true,
  }),
  SERVER_DELETE: defineEvent({
    summary: 'The account is no longer in a server.',
    data: ServerDeleted,
    place: 'account',
    audience: 'account',
    optIn: true,
    lifecycle: 'end',
  }),
  PRESENCE_UPDATE: defineEvent({
    summary: 'The status of an account changed.',
    data: PresenceChange,
    place: null,
    audience: 'custom',
    optIn: true,
  }),
  USER_UPDATE: defineEvent({
    summary: 'The public profile of an account changed.',
    data: PublicUser,
    place: null,
    audience: 'custom',
    optIn: true,
    coalesce: true,
  }),
  INTERACTION_CREATE: defineEvent({
    summary: 'A person used a slash command of the bot.',
    data: Interaction,
    place: 'account',
    audience: 'session',
    permission: 'View Channel',
    optIn: false,
    hasToken: true,
  }),
  INTERACTION_UPDATE: defineEvent({
    summary: 'The state of an interaction of the person changed.',
    data: InteractionUpdate,
    place: 'account',
    audience: 'account',
    optIn: false,
  }),
  READ_UPDATE: defineEvent({
    summary: 'The person read a channel up to a message.',
    data: ReadUpdate,
    place: 'account',
    audience: 'account',
    optIn: false,
  }),
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
/** The events that the sessions of people receive. */
export const personEvents: readonly EventName[] = (Object.keys(events) as EventName[]).filter(
  (name) => events[name].audience !== 'session',
);
/** The events that every bot receives. */
export const botEvents: readonly EventName[] = ['MESSAGE_CREATE', 'INTERACTION_CREATE'];
