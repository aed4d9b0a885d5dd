import type { FieldError } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { countCodePoints, toWellFormed } from '../../base/text.ts';
import type { CommandOption, InvokeInput, OptionType } from '../../contract/command.ts';
import type { OptionValue } from '../../contract/interaction.ts';

/**
 * The result of parsing: the valid options in the command's order, and the errors of the others, one for each option name (`/text` for text that belongs to no
 * option).
 */
export interface ParsedOptions {
  values: OptionValue[];
  errors: FieldError[];
}

/** The raw value of an option: text that a person typed, or a value of a JSON body. */
type RawValue = { typed: string } | { sent: string | number | boolean };

/** Why a value is invalid, as an error message. */
class OptionError {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

const yes = new Set(['true', 'yes', 'on']);
const no = new Set(['false', 'no', 'off']);

const toText = (raw: RawValue): string | null => ('typed' in raw ? raw.typed : typeof raw.sent === 'string' ? raw.sent : null);

/** The number in `raw`: a JSON number, or typed text of the form `pattern`; NaN for anything else. */
function toNumber(raw: RawValue, pattern: RegExp): number {
  const number = 'sent' in raw ? raw.sent : pattern.test(raw.typed) ? Number(raw.typed) : null;
  return typeof number === 'number' ? number + 0 : Number.NaN; // + 0 turns -0 into 0
}

/** The id in a mention (`<@id>`, `<@&id>`). In a JSON body it may also be the bare id. */
function toId(raw: RawValue, mention: RegExp): string | undefined {
  const text = toText(raw) ?? '';
  return 'sent' in raw && isId(text) ? text : mention.exec(text)?.[1];
}

/** A parser for each type of docs/behavior/interactions.md#option-types. */
const parsers: Record<OptionType, (raw: RawValue) => string | number | boolean | OptionError> = {
  string(raw) {
    const text = toText(raw);
    const length = countCodePoints(text ?? '');
    return text !== null && length >= 1 && length <= limits.optionStringChars
      ? toWellFormed(text)
      : new OptionError(`must be text of 1 to ${limits.optionStringChars} characters`);
  },
  integer(raw) {
    const number = toNumber(raw, /^[+-]?\d+$/);
    return Number.isSafeInteger(number)
      ? number
      : new OptionError(`must be a whole number from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`);
  },
  number(raw) {
    const number = toNumber(raw, /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/);
    return Number.isFinite(number) ? number : new OptionError('must be a number');
  },
  boolean(raw) {
    if ('sent' in raw && typeof raw.sent === 'boolean') return raw.sent;
    const word = (toText(raw) ?? '').toLowerCase();
    return yes.has(word) || (no.has(word) ? false : new OptionError('must be true, false, yes, no, on or off'));
  },
  user: (raw) => toId(raw, /^<@([0-9]{19})>$/) ?? new OptionError('must be a mention of a person, as <@id>'),
  role: (raw) => toId(raw, /^<@&([0-9]{19})>$/) ?? new OptionError('must be a mention of a role, as <@&id>'),
  channel(raw) {
    const text = toText(raw);
    return isId(text) ? text : new OptionError('must be the id of a channel');
  },
};

/** Names before a colon, at the start of the text or after white space. An option can begin only there. */
const optionNames = /(?<!\S)([a-z0-9_-]{1,32}):/g;

/** Splits text at known option names only: the text before the first name, then each name with its value (docs/behavior/interactions.md#options). */
function splitOptions(options: readonly CommandOption[], text: string): { before: string; parts: { name: string; value: string }[] } {
  const known = new Set(options.map((option) => option.name));
  const marks = [...text.matchAll(optionNames)].filter((mark) => known.has(mark[1] as string));
  const parts = marks.map((mark, at) => ({
    name: mark[1] as string,
    value: text.slice(mark.index + mark[0].length, marks[at + 1]?.index).trim(),
  }));
  return { before: text.slice(0, marks[0]?.index).trim(), parts };
}

function parseTyped(options: readonly CommandOption[], input: string): { parts: { name: string; raw: RawValue }[]; errors: FieldError[] } {
  const text = input.trim();
  const only = options.length === 1 ? options[0] : undefined;
  // A command with one option takes the whole text, unless it begins with the option's name and a colon (docs/behavior/interactions.md#options).
  if (only && text !== '' && !text.startsWith(`${only.name}:`)) return { parts: [{ name: only.name, raw: { typed: text } }], errors: [] };
  const { before, parts } = splitOptions(options, text);
  const unknown = /^([a-z0-9_-]{1,32}):/.exec(before)?.[1];
  const errors: FieldError[] = [];
  if (unknown) errors.push({ path: unknown, message: 'is not an option of this command' });
  else if (before) errors.push({ path: '/text', message: 'must be written as `name: value` for each option' });
  return { parts: parts.map(({ name, value }) => ({ name, raw: { typed: value } })), errors };
}

/**
 * Parses the options of a slash command (docs/behavior/interactions.md#options), from `text` as a person types it or from the list `options`. Without either
 * there are no options. Pure: the caller checks whether users, roles and channels exist. Never throws.
 */
export function parseOptions(options: readonly CommandOption[], input: InvokeInput): ParsedOptions {
  const { parts, errors } = input.options
    ? { parts: input.options.map(({ name, value }) => ({ name, raw: { sent: value } as RawValue })), errors: [] as FieldError[] }
    : parseTyped(options, input.text ?? '');
  const found = new Map<string, OptionValue>();
  const seenNames = new Set<string>();
  for (const { name, raw } of parts) {
    const option = options.find((one) => one.name === name);
    if (!option) errors.push({ path: name, message: 'is not an option of this command' });
    else if (seenNames.has(name)) {
      errors.push({ path: name, message: 'is given twice' });
      found.delete(name);
    } else {
      const value = parsers[option.type](raw);
      if (value instanceof OptionError) errors.push({ path: name, message: value.message });
      else found.set(name, { name, type: option.type, value });
    }
    seenNames.add(name);
  }
  for (const { name, required } of options) if (required && !seenNames.has(name)) errors.push({ path: name, message: 'is required' });
  // A name that is given thousands of times gets one error.
  const errorByPath = new Map(errors.map((error) => [error.path, error]));
  return { values: options.flatMap(({ name }) => found.get(name) ?? []), errors: [...errorByPath.values()] };
}
