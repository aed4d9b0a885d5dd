import { type Static, Type } from 'typebox';
import { OptionType } from './command.ts';
import { Choice, Described, ObjectOf } from './schemas.ts';
import { IdOf, Nullable, Timestamp } from './shared.ts';
import { UserSummary } from './user.ts';

/** The state of an interaction (docs/behavior/interactions.md#states). */
export const InteractionState = Choice(['created', 'answered', 'deferred', 'expired'], {
  description:
    'The state of an interaction. `created`: waits for the first answer. `answered`: has it. `deferred`: the bot announced an answer. `expired`: no answer came within 3 seconds.',
});
export type InteractionState = Static<typeof InteractionState>;

/** The value that was given for an option, parsed to the type of the option. */
export const OptionValue = ObjectOf(
  {
    name: Type.String({ description: 'The name of the option.', examples: ['sides'] }),
    type: Described(OptionType, 'The type of the option.', 'integer'),
    value: Type.Union([Type.String(), Type.Number(), Type.Boolean()], {
      description: 'The value: a number for `integer` and `number`, true or false for `boolean`, otherwise a text or an id.',
      examples: [20],
    }),
  },
  'The value of an option of a command.',
);
export type OptionValue = Static<typeof OptionValue>;

/** The person who used a command. */
export const InteractionUser = ObjectOf(
  {
    ...UserSummary.properties,
    roles: Type.Array(IdOf('role', 'A role.'), {
      description: 'The roles of the person when the command was used, without `@everyone`. Empty in a direct message.',
    }),
  },
  'The person who used a command.',
);

/** The command of an interaction with the values of its options. */
export const InteractionData = ObjectOf(
  {
    id: IdOf('command', 'The id of the command.'),
    name: Type.String({ description: 'The name of the command.', examples: ['roll'] }),
    options: Type.Array(OptionValue, { description: 'The options that were filled in, in the order of the command.' }),
  },
  'The command that was used, with the values of its options.',
);

/** An interaction as the bot receives it (docs/behavior/interactions.md#the-interaction). The token is added on sending and never stored. */
export const Interaction = ObjectOf(
  {
    type: Type.Literal('command', { description: 'A command was used.' }),
    id: IdOf('interaction', 'The id of the interaction. With the token it is the credential for answers.'),
    token: Type.String({
      description: 'The secret for answers. It works for 3 seconds, and for 15 minutes after the first answer.',
      examples: ['uS6xKq0w3pYb8Zr1nD4fVgAECAwQFBgcICQoLDA0ODw'],
    }),
    applicationId: IdOf('application', 'The application of the command.'),
    channelId: IdOf('channel', 'The channel in which the command was used.'),
    serverId: Nullable(IdOf('server', 'The server.'), 'The server of the channel; null in a direct message.'),
    user: Described(InteractionUser, 'The person who used the command.'),
    data: Described(InteractionData, 'The command with the values of its options.'),
  },
  'The use of a command, as the bot receives it.',
);
export type Interaction = Static<typeof Interaction>;

/** The state of an interaction for the person who invoked it: the payload of `INTERACTION_UPDATE` (docs/behavior/interactions.md#state-for-the-person). */
export const InteractionUpdate = ObjectOf(
  {
    id: IdOf('interaction', 'The id of the interaction.'),
    channelId: IdOf('channel', 'The channel in which the command was used.'),
    state: InteractionState,
    endpointFailed: Type.Optional(
      Type.Boolean({
        description:
          'true if the Interactions Endpoint failed: it gave no valid answer, or could not be asked. The state is then still `created`, because the bot may answer by the callback route. Absent otherwise.',
      }),
    ),
  },
  'The state of an interaction, for the person who used the command.',
  { endpointFailed: undefined },
);
export type InteractionUpdate = Static<typeof InteractionUpdate>;

/** `POST …/invoke` 202. */
export const InvokeResult = ObjectOf(
  { id: IdOf('interaction', 'The id of the new interaction.'), state: InteractionState },
  'The interaction that the use of a command created.',
);
export type InvokeResult = Static<typeof InvokeResult>;

/** The command of an interaction, for the person who used it. */
export const InteractionCommand = ObjectOf(
  { id: IdOf('command', 'The id of the command.'), name: Type.String({ description: 'The name of the command.', examples: ['roll'] }) },
  'The command of an interaction.',
);

/** `GET /api/interactions/{id}` (docs/behavior/interactions.md#state-for-the-person). */
export const InteractionView = ObjectOf(
  {
    id: IdOf('interaction', 'The id of the interaction.'),
    channelId: IdOf('channel', 'The channel in which the command was used.'),
    command: Described(InteractionCommand, 'The command that was used.'),
    state: Described(InteractionState, 'The state of the interaction.', 'answered'),
    createdAt: Described(Timestamp, 'When the command was used.'),
    messageId: Nullable(
      IdOf('message', 'The message that answers.'),
      'The message that answers; null while there is none, and for an ephemeral answer.',
    ),
  },
  'An interaction, for the person who used the command.',
);
export type InteractionView = Static<typeof InteractionView>;
