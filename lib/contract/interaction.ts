import { type Static, Type } from 'typebox';
import { Choice, Id, Nullable, Timestamp } from './shared.ts';
import { UserSummary } from './user.ts';

/** The state of an interaction (docs/behavior/interactions.md#states). */
export const InteractionState = Choice(['created', 'answered', 'deferred', 'expired']);
export type InteractionState = Static<typeof InteractionState>;

/** The value that was given for an option, parsed to the type of the option. */
export const OptionValue = Type.Object({
  name: Type.String(),
  type: Type.String(),
  value: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
});
export type OptionValue = Static<typeof OptionValue>;

/** An interaction as the bot receives it (docs/behavior/interactions.md#the-interaction). The token is added on sending and never stored. */
export const Interaction = Type.Object({
  type: Type.Literal('command'),
  id: Id,
  token: Type.String(),
  applicationId: Id,
  channelId: Id,
  serverId: Nullable(Id),
  user: Type.Object({ ...UserSummary.properties, roles: Type.Array(Id) }),
  data: Type.Object({ id: Id, name: Type.String(), options: Type.Array(OptionValue) }),
});
export type Interaction = Static<typeof Interaction>;

/** The state of an interaction for the person who invoked it: the payload of `INTERACTION_UPDATE` (docs/behavior/interactions.md#state-for-the-person). */
export const InteractionUpdate = Type.Object({ id: Id, channelId: Id, state: InteractionState });
export type InteractionUpdate = Static<typeof InteractionUpdate>;

/** `POST …/invoke` 202. */
export const InvokeResult = Type.Object({ id: Id, state: InteractionState });
export type InvokeResult = Static<typeof InvokeResult>;

/** `GET /api/interactions/{id}` (docs/behavior/interactions.md#state-for-the-person). */
export const InteractionView = Type.Object({
  id: Id,
  channelId: Id,
  command: Type.Object({ id: Id, name: Type.String() }),
  state: InteractionState,
  createdAt: Timestamp,
  messageId: Nullable(Id),
});
export type InteractionView = Static<typeof InteractionView>;
