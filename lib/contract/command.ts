import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Described, DocumentedAs, exampleOf, ObjectOf, OneOf } from './schemas.ts';
import { IdOf, PictureUrl } from './shared.ts';

/** The type of an option of a slash command (docs/behavior/interactions.md#option-types). */
export const OptionType = Choice(['string', 'integer', 'number', 'boolean', 'user', 'role', 'channel'], {
  description:
    'The type of an option. `string`: 1 to 2,000 characters. `integer`: a whole number. `number`: a decimal number. `boolean`: true or false. `user`, `role` and `channel`: an id.',
});
export type OptionType = Static<typeof OptionType>;

const slashName = Type.String({
  minLength: 1,
  maxLength: limits.commandNameChars,
  pattern: '^[a-z0-9_-]+$',
  patternText: 'Use only lowercase letters, numbers, _ and -.',
  description: 'The name of the option: 1 to 32 lowercase letters, digits, _ and -. It is unique within the command.',
  examples: ['sides'],
});
const optionDescription = Type.String({
  minLength: 1,
  maxLength: limits.commandDescriptionChars,
  characters: 'text',
  description: 'What the option is for: 1 to 100 characters.',
  examples: ['How many sides the die has'],
});

/** An option of a slash command, as stored and shown. */
export const CommandOption = ObjectOf(
  {
    name: slashName,
    description: optionDescription,
    type: Described(OptionType, 'The type of the values.', 'integer'),
    required: Type.Boolean({ description: 'Whether the command cannot be used without the option.' }),
  },
  'An option of a slash command.',
);
export type CommandOption = Static<typeof CommandOption>;

const id = IdOf('command', 'The id of the command. A command that is saved again under the same kind and name keeps it.');
const name = Type.String({ description: 'The name of the command, without `/` or prefix.', examples: ['roll'] });
const description = Type.String({ description: 'What the command does. It may be empty for a prefix command.', examples: ['Rolls a die'] });
const prefix = Type.String({ description: 'The characters in front of the name, such as `!`.', examples: ['!'] });
const options = Type.Array(CommandOption, { description: 'The options, required ones first.' });
const slashKind = Type.Literal('slash', { description: 'A slash command. Its use sends an interaction to the bot.' });
const prefixKind = Type.Literal('prefix', { description: 'A prefix command. People post it as a message, which the bot reads itself.' });

const commandProperties = {
  id,
  name,
  description,
  kind: Choice(['slash', 'prefix'], { description: 'The kind of the command.' }),
  prefix: Type.Optional(Described(prefix, 'The characters in front of the name; absent for slash commands.')),
  options: Type.Optional(Described(options, 'The options, required ones first; absent for prefix commands.')),
};

/** A slash command of an application. */
export const SlashCommand = ObjectOf({ id, name, description, kind: slashKind, options }, 'A slash command of an application.');
/** A prefix command of an application. */
export const PrefixCommand = ObjectOf({ id, name, description, kind: prefixKind, prefix }, 'A prefix command of an application.');

/** A command of an application (docs/behavior/interactions.md#commands). `prefix` is for prefix commands only, `options` for slash commands only. */
export const Command = DocumentedAs(
  ObjectOf(commandProperties, 'A command of an application.', { prefix: undefined }),
  OneOf('kind', [SlashCommand, PrefixCommand], 'A command of an application.'),
);
export type Command = Static<typeof Command>;

/** An option of a command that is saved. */
export const CommandOptionInput = ObjectOf(
  {
    name: slashName,
    description: optionDescription,
    type: Type.Optional(Described(OptionType, 'The type of the values. Default: `string`.', 'integer')),
    required: Type.Optional(
      Type.Boolean({ description: 'Whether the command cannot be used without the option. Default: false. Required options come first.' }),
    ),
  },
  'An option of a slash command that is saved.',
);

/** One item of `PUT …/commands`. The domain checks the rules that depend on `kind`. */
export const CommandInput = ObjectOf(
  {
    name: Type.String({
      minLength: 1,
      maxLength: limits.commandNameChars,
      characters: 'name',
      description:
        'The name. Of a slash command: 1 to 32 lowercase letters, digits, _ and -. Of a prefix command: 1 to 32 characters without white space.',
      examples: ['roll'],
    }),
    description: Type.Optional(
      Type.String({
        maxLength: limits.commandDescriptionChars,
        characters: 'text',
        description: 'What the command does, up to 100 characters. Slash commands need one; of prefix commands the default is empty.',
        examples: ['Rolls a die'],
      }),
    ),
    kind: Type.Optional(Choice(['slash', 'prefix'], { description: 'The kind of the command. Default: `slash`.' })),
    prefix: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.prefixChars,
        pattern: '^\\S+$',
        characters: 'name',
        patternText: 'Use no spaces.',
        description: 'The characters in front of the name: 1 to 5 without white space. Prefix commands need one; slash commands have none.',
        examples: ['!'],
      }),
    ),
    options: Type.Optional(
      Type.Array(CommandOptionInput, {
        maxItems: limits.optionsPerCommand,
        description: `The options of a slash command, required ones first. At most ${limits.optionsPerCommand}. Default: none.`,
      }),
    ),
  },
  'A command to save. One of the same kind and name keeps its id.',
  { prefix: undefined },
);
export type CommandInput = Static<typeof CommandInput>;

/** `PUT …/commands`: all commands of a scope. */
export const CommandsInput = Type.Array(CommandInput, {
  maxItems: limits.commandsPerScope,
  description: `All commands of a list, at most ${limits.commandsPerScope}. The list is replaced; an empty one clears it.`,
  examples: [[exampleOf(CommandInput)]],
});
export type CommandsInput = Static<typeof CommandsInput>;

/** The application of a command in the picker. */
export const PickerApplication = ObjectOf(
  {
    id: IdOf('application', 'The id of the application.'),
    name: Type.String({ description: 'The name of the application.', examples: ['Dice'] }),
    iconUrl: PictureUrl('The address of the icon; null if there is none.'),
  },
  'The application of a command in the picker.',
);

/** A command in the picker, with the application that it belongs to (docs/behavior/interactions.md#picker). */
export const PickerCommand = ObjectOf(
  { ...commandProperties, application: Described(PickerApplication, 'The application that the command belongs to.') },
  'A command that can be used in a channel, with its application.',
  { prefix: undefined },
);
export type PickerCommand = Static<typeof PickerCommand>;

/** The query of `GET /api/channels/{channelId}/commands`. */
export const PickerQuery = ObjectOf(
  {
    q: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'Only commands whose name contains this text, in any case. A leading `/` is ignored. Default: all commands.',
        examples: ['ro'],
      }),
    ),
  },
  'The query of the commands that can be used in a channel.',
);

/** The value of one option of a use of a command. */
export const OptionInput = ObjectOf(
  {
    name: Type.String({ maxLength: 32, description: 'The name of the option.', examples: ['sides'] }),
    value: Type.Union([Type.String({ maxLength: 4000 }), Type.Number(), Type.Boolean()], {
      description: 'The value: a text as a person types it, a number, or true or false. Of users, roles and channels: a mention or an id.',
      examples: [20],
    }),
  },
  'The value of one option of a use of a command.',
);

/** `POST /api/channels/{id}/commands/{commandId}/invoke`: the text after the command's name, or the values of its options. */
export const InvokeInput = ObjectOf(
  {
    text: Type.Optional(
      Type.String({
        maxLength: 60_000,
        description: 'The text behind the name of the command, with each option as `name: value`. Not together with `options`.',
        examples: ['sides: 20'],
      }),
    ),
    options: Type.Optional(
      Type.Array(OptionInput, {
        maxItems: limits.optionsPerCommand,
        description: 'The values of the options. Those that are not filled in are left out. Not together with `text`.',
      }),
    ),
  },
  'Uses a slash command with the text behind its name, with the values of its options, or with nothing.',
  { text: undefined },
);
export type InvokeInput = Static<typeof InvokeInput>;
