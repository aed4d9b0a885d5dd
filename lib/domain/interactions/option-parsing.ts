import type { FieldError } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { lengthOf, wellFormed } from '../../base/text.ts';
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
type Given = { typed: string } | { sent: string | number | boolean };

/** Why a value is invalid, as an error message. */
class Fault {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

const yes = new Set(['true', 'yes', 'on']);
const no = new Set(['false', 'no', 'off']);

const textOf = (given: Given): string | null => ('typed' in given ? given.typed : typeof given.sent === 'string' ? given.sent : null);

/** The number in `given`: a JSON number, or typed text of the form `pattern`; NaN for anything else. */
function numberOf(given: Given, pattern: RegExp): number {
  const number = 'sent' in given ? given.sent : pattern.test(given.typed) ? Number(given.typed) : null;
  return typeof number === 'number' ? number + 0 : Number.NaN; // + 0 turns -0 into 0
}

/** The id in a mention (`<@id>`, `<@&id>`). In a JSON body it may also be the bare id. */
function idOf(given: Given, mention: RegExp): string | undefined {
  const text = textOf(given) ?? '';
  return 'sent' in given && isId(text) ? text : mention.exec(text)?.[1];
}

/** A parser for each type of docs/behavior/interactions.md#option-types. */
const readers: Record<OptionType, (given: Given) => string | number | boolean | Fault> = {
  string(given) {
    const text = textOf(given);
    const length = lengthOf(text ?? '');
    return text !== null && length >= 1 && length <= limits.optionStringChars
      ? wellFormed(text)
      : new Fault(`must be text of 1 to ${limits.optionStringChars} characters`);
  },
  integer(given) {
    const number = numberOf(given, /^[+-]?\d+$/);
    return Number.isSafeInteger(number)
      ? number
      : new Fault(`must be a whole number from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`);
  },
  number(given) {
    const number = numberOf(given, /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/);
    return Number.isFinite(number) ? number : new Fault('must be a number');
  },
  boolean(given) {
    if ('sent' in given && typeof given.sent === 'boolean') return given.sent;
    const word = (textOf(given) ?? '').toLowerCase();
    return yes.has(word) || (no.has(word) ? false : new Fault('must be true, false, yes, no, on or off'));
  },
  user: (given) => idOf(given, /^<@([0-9]{19})>$/) ?? new Fault('must be a mention of a person, as <@id>'),
  role: (given) => idOf(given, /^<@&([0-9]{19})>$/) ?? new Fault('must be a mention of a role, as <@&id>'),
  channel(given) {
    const text = textOf(given);
    return isId(text) ? text : new Fault('must be the id of a channel');
  },
};

/** Names before a colon, at the start of the text or after white space. An option can begin only there. */
const heads = /(?<!\S)([a-z0-9_-]{1,32}):/g;

/** Splits text at known option names only: the text before the first name, then each name with its value (docs/behavior/interactions.md#options). */
function split(options: readonly CommandOption[], text: string): { before: string; parts: { name: string; value: string }[] } {
  const known = new Set(options.map((option) => option.name));
  const marks = [...text.matchAll(heads)].filter((mark) => known.has(mark[1] as string));
  const parts = marks.map((mark, at) => ({
    name: mark[1] as string,
    value: text.slice(mark.index + mark[0].length, marks[at + 1]?.index).trim(),
  }));
  return { before: text.slice(0, marks[0]?.index).trim(), parts };
}

function readTyped(options: readonly CommandOption[], whole: string): { parts: { name: string; given: Given }[]; errors: FieldError[] } {
  const text = whole.trim();
  const only = options.length === 1 ? options[0] : undefined;
  // A command with one option takes the whole text, unless it begins with the option's name and a colon (docs/behavior/interactions.md#options).
  if (only && text !== '' && !text.startsWith(`${only.name}:`)) return { parts: [{ name: only.name, given: { typed: text } }], errors: [] };
  const { before, parts } = split(options, text);
  const unknown = /^([a-z0-9_-]{1,32}):/.exec(before)?.[1];
  const errors: FieldError[] = [];
  if (unknown) errors.push({ path: unknown, message: 'is not an option of this command' });
  else if (before) errors.push({ path: '/text', message: 'must be written as `name: value` for each option' });
  return { parts: parts.map(({ name, value }) => ({ name, given: { typed: value } })), errors };
}

/**
 * Parses the options of a slash command (docs/behavior/interactions.md#options), from `text` as a person types it or from the list `options`. Without either
 * there are no options. Pure: the caller checks whether users, roles and channels exist. Never throws.
 */
export function parseOptions(options: readonly CommandOption[], input: InvokeInput): ParsedOptions {
  const { parts, errors } = input.options
    ? { parts: input.options.map(({ name, value }) => ({ name, given: { sent: value } as Given })), errors: [] as FieldError[] }
    : readTyped(options, input.text ?? '');
  const found = new Map<string, OptionValue>();
  const seen = new Set<string>();
  for (const { name, given } of parts) {
    const option = options.find((one) => one.name === name);
    if (!option) errors.push({ path: name, message: 'is not an option of this command' });
    else if (seen.has(name)) {
      errors.push({ path: name, message: 'is given twice' });
      found.delete(name);
    } else {
      const value = readers[option.type](given);
      if (value instanceof Fault) errors.push({ path: name, message: value.message });
      else found.set(name, { name, type: option.type, value });
    }
    seen.add(name);
  }
  for (const { name, required } of options) if (required && !seen.has(name)) errors.push({ path: name, message: 'is required' });
  // A name that is given thousands of times gets one error.
  const told = new Map(errors.map((error) => [error.path, error]));
  return { values: options.flatMap(({ name }) => found.get(name) ?? []), errors: [...told.values()] };
}
