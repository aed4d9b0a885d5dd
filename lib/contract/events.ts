import { type Static, Type } from 'typebox';
import { Channel } from './channel.ts';
import { Interaction, InteractionUpdate } from './interaction.ts';
import { Message } from './message.ts';
import { Id, Nullable, Timestamp } from './shared.ts';

/** What `REACTION_ADD` and `REACTION_REMOVE` tell. */
const Reaction = Type.Object({ channelId: Id, messageId: Id, serverId: Nullable(Id), userId: Id, emoji: Type.String() });

/** Every gateway event: its payload, and who hears it (spec, Events; decisions 7). `optIn` ones reach bots that asked for them in identify. */
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
  INTERACTION_CREATE: { data: Interaction, to: 'application', optIn: false },
  INTERACTION_UPDATE: { data: InteractionUpdate, to: 'person', optIn: false },
} as const;

/** The name of a gateway event, as on the wire. */
export type EventName = keyof typeof events;
/** The payload of an event. */
export type EventData<N extends EventName> = Static<(typeof events)[N]['data']>;

/** Names that a bot may ask for in identify. */
export const optInEvents: readonly EventName[] = (Object.keys(events) as EventName[]).filter((name) => events[name].optIn);
/** Names that every bot gets. */
export const botEvents: readonly EventName[] = ['MESSAGE_CREATE', 'INTERACTION_CREATE'];
