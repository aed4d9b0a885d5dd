import { type Static, Type } from 'typebox';
import { Interaction, InteractionUpdate } from './interaction.ts';
import { Message } from './message.ts';
import { Id, Nullable } from './shared.ts';

/** Every gateway event: its payload, and who hears it (spec, Events; decisions 7). `optIn` ones reach bots that asked for them in identify. */
export const events = {
  MESSAGE_CREATE: { data: Message, to: 'channel', optIn: false },
  MESSAGE_UPDATE: { data: Message, to: 'channel', optIn: true },
  MESSAGE_DELETE: { data: Type.Object({ id: Id, channelId: Id, serverId: Nullable(Id) }), to: 'channel', optIn: true },
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
