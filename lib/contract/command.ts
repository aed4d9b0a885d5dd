import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Id, Nullable } from './shared.ts';

/** The type of an option of a slash command (docs/behavior/interactions.md#option-types). */
export const OptionType = Choice(['string', 'integer', 'number', 'boolean', 'user', 'role', 'channel']);
export type OptionType = Static<typeof OptionType>;

const slashName = Type.String({
  minLength: 1,
  maxLength: limits.commandNameChars,
  pattern: '^[a-z0-9_-]+$',
  patternText: 'Use only lowercase letters, numbers, _ and -.',
});

/** An option of a slash command, as stored and shown. */
export const CommandOption = Type.Object({
  name: slashName,
  description: Type.String({ minLength: 1, maxLength: limits.commandDescriptionChars }),
  type: OptionType,
  required: Type.Boolean(),
});
export type CommandOption = Static<typeof CommandOption>;

/** A command of an application (docs/behavior/interactions.md#commands). `prefix` is for prefix commands only, `options` for slash commands only. */
export const Command = Type.Object({
  id: Id,
  name: Type.String(),
  description: Type.String(),
  kind: Choice(['slash', 'prefix']),
  prefix: Type.Optional(Type.String()),
  options: Type.Optional(Type.Array(CommandOption)),
});
export type Command = Static<typeof Command>;

/** One item of `PUT …/commands`. The domain checks the rules that depend on `kind`. */
export const CommandInput = Type.Object({
  name: Type.String({ minLength: 1, maxLength: limits.commandNameChars }),
  description: Type.Optional(Type.String({ maxLength: limits.commandDescriptionChars })),
  kind: Type.Optional(Choice(['slash', 'prefix'])),
  prefix: Type.Optional(Type.String({ minLength: 1, maxLength: limits.prefixChars, pattern: '^\\S+$', patternText: 'Use no spaces.' })),
  options: Type.Optional(
    Type.Array(
      Type.Object({
        name: slashName,
        description: Type.String({ minLength: 1, maxLength: limits.commandDescriptionChars }),
        type: Type.Optional(OptionType),
        required: Type.Optional(Type.Boolean()),
      }),
      { maxItems: limits.optionsPerCommand },
    ),
  ),
});
export type CommandInput = Static<typeof CommandInput>;

/** `PUT …/commands`: all commands of a scope. */
export const CommandsInput = Type.Array(CommandInput, { maxItems: limits.commandsPerScope });
export type CommandsInput = Static<typeof CommandsInput>;

/** A command in the picker, with the application that it belongs to (docs/behavior/interactions.md#picker). */
export const PickerCommand = Type.Object({
  ...Command.properties,
  application: Type.Object({ id: Id, name: Type.String(), iconUrl: Nullable(Type.String()) }),
});
export type PickerCommand = Static<typeof PickerCommand>;

/** `POST /api/channels/{id}/commands/{commandId}/invoke`: the text after the command's name, or the values of its options. */
export const InvokeInput = Type.Object({
  text: Type.Optional(Type.String({ maxLength: 60_000 })),
  options: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String({ maxLength: 32 }),
        value: Type.Union([Type.String({ maxLength: 4000 }), Type.Number(), Type.Boolean()]),
      }),
      {
        maxItems: limits.optionsPerCommand,
      },
    ),
  ),
});
export type InvokeInput = Static<typeof InvokeInput>;
