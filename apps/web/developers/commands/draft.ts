import type { Command, CommandInput, OptionType } from '../../../../lib/contract/command.ts';

/** A command option as the table edits it. `key` identifies it while it has no name. */
export interface DraftOption {
  key: number;
  name: string;
  description: string;
  type: OptionType;
  required: boolean;
}

/** A command as the table edits it. It has the fields of both kinds, so that changing the kind and changing it back loses nothing. */
export interface DraftCommand {
  key: number;
  kind: 'slash' | 'prefix';
  name: string;
  description: string;
  prefix: string;
  options: readonly DraftOption[];
}

/** The option types and their values, in the documented order (docs/behavior/interactions.md#option-types). */
export const optionTypes: readonly { value: OptionType; label: string }[] = [
  { value: 'string', label: 'string: any text' },
  { value: 'integer', label: 'integer: a whole number' },
  { value: 'number', label: 'number: a decimal number' },
  { value: 'boolean', label: 'boolean: yes or no' },
  { value: 'user', label: 'user: a mention of a person' },
  { value: 'role', label: 'role: a mention of a role' },
  { value: 'channel', label: 'channel: a channel' },
];

let count = 0;

/** A new option, empty. */
export const newOption = (): DraftOption => ({ key: ++count, name: '', description: '', type: 'string', required: false });

/** A new slash command, empty. */
export const newCommand = (): DraftCommand => ({ key: ++count, kind: 'slash', name: '', description: '', prefix: '!', options: [] });

/** Returns the request body of a draft, with only the fields of each command's kind. */
export const bodyOf = (draft: readonly DraftCommand[]): CommandInput[] =>
  draft.map(({ kind, name, description, prefix, options }) =>
    kind === 'prefix'
      ? { kind, name, description, prefix }
      : { kind, name, description, options: options.map(({ key: _key, ...option }) => option) },
  );

/** Converts saved commands to a draft. */
export const draftOf = (commands: readonly Command[]): DraftCommand[] =>
  commands.map(({ kind, name, description, prefix = '!', options = [] }) => ({
    key: ++count,
    kind,
    name,
    description,
    prefix,
    options: options.map((option) => ({ ...option, key: ++count })),
  }));

/** Formats a list as JSON for editing. */
export const jsonOf = (body: readonly CommandInput[]): string => JSON.stringify(body, null, 2);

/** A part of the JSON that the table cannot show. */
export class UnsupportedJson extends Error {
  readonly pointer: string;
  constructor(pointer: string, message: string) {
    super(message);
    this.pointer = pointer;
  }
}

type Fields = Record<string, unknown>;

function fieldsOf(value: unknown, pointer: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new UnsupportedJson(pointer, 'must be an object');
}

function listOf(value: unknown, pointer: string): readonly unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  throw new UnsupportedJson(pointer, 'must be an array');
}

/** Returns a text or boolean field; returns `fallback` when it is left out. */
function fieldOf<T extends string | boolean>(fields: Fields, name: string, fallback: T, pointer: string): T {
  const value = fields[name] ?? fallback;
  if (typeof value === typeof fallback) return value as T;
  throw new UnsupportedJson(`${pointer}/${name}`, `must be ${typeof fallback}`);
}

function choiceOf<T extends string>(fields: Fields, name: string, choices: readonly T[], pointer: string): T {
  const value = fieldOf<string>(fields, name, choices[0] ?? '', pointer);
  const found = choices.find((one) => one === value);
  if (found !== undefined) return found;
  throw new UnsupportedJson(`${pointer}/${name}`, `must be one of ${choices.join(', ')}`);
}

function optionOf(value: unknown, pointer: string): DraftOption {
  const fields = fieldsOf(value, pointer);
  return {
    key: ++count,
    name: fieldOf(fields, 'name', '', pointer),
    description: fieldOf(fields, 'description', '', pointer),
    type: choiceOf(
      fields,
      'type',
      optionTypes.map((one) => one.value),
      pointer,
    ),
    required: fieldOf<boolean>(fields, 'required', false, pointer),
  };
}

/** Converts JSON to a draft. Throws `UnsupportedJson` for content that the table cannot show, so that switching to the table loses nothing. */
export const readDraft = (value: unknown): DraftCommand[] =>
  listOf(value, '').map((one, index) => {
    const pointer = `/${index}`;
    const fields = fieldsOf(one, pointer);
    return {
      key: ++count,
      kind: choiceOf(fields, 'kind', ['slash', 'prefix'] as const, pointer),
      name: fieldOf(fields, 'name', '', pointer),
      description: fieldOf(fields, 'description', '', pointer),
      prefix: fieldOf(fields, 'prefix', '!', pointer),
      options: listOf(fields.options ?? [], `${pointer}/options`).map((option, at) => optionOf(option, `${pointer}/options/${at}`)),
    };
  });

/**
 * Returns a command as text in the form in which it is saved: with the API's defaults and a fixed order of fields, so that two commands can be compared.
 */
const savedAs = ({ kind = 'slash', name, description = '', prefix, options = [] }: CommandInput): string =>
  JSON.stringify([
    kind,
    name,
    description,
    kind === 'prefix' ? prefix : null,
    Array.isArray(options) ? options.map((one) => [one?.name, one?.description, one?.type ?? 'string', one?.required ?? false]) : options,
  ]);

/** Compares `body` with the saved list: how many commands saving would add, change and remove. Commands are matched by kind and name. */
export function changesOf(saved: readonly Command[], body: readonly CommandInput[]): { added: number; changed: number; removed: number } {
  const byKey = (list: readonly CommandInput[]): Map<string, string> =>
    new Map(list.map((one) => [`${one.kind ?? 'slash'} ${one.name}`, savedAs(one)]));
  const before = byKey(saved);
  const after = byKey(body);
  return {
    added: [...after.keys()].filter((key) => !before.has(key)).length,
    changed: [...after].filter(([key, text]) => before.has(key) && before.get(key) !== text).length,
    removed: [...before.keys()].filter((key) => !after.has(key)).length,
  };
}
