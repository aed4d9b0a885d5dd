import type { OptionType } from '../../../../lib/contract/command.ts';

/** A slash command that was typed as text: its name and the text after it. */
export interface CommandLine {
  name: string;
  rest: string;
}

/** Returns the command that a text begins with; null when the text is not a command, such as a path or a slash followed by other characters. */
export function commandLineOf(text: string): CommandLine | null {
  const found = /^\/([a-z0-9_-]{1,32})(?:\s+([^]*))?$/.exec(text.trimEnd());
  return found ? { name: found[1] ?? '', rest: (found[2] ?? '').trim() } : null;
}

const integer = /^[+-]?\d+$/;
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * Converts the text of a field to the type that the API expects. Text that is not a valid number or boolean is sent unchanged, because the API reports what
 * is wrong with it.
 */
export function valueOf(type: OptionType, typed: string): string | number | boolean {
  const word = typed.trim();
  switch (type) {
    case 'integer':
    case 'number': {
      const number = (type === 'integer' ? integer : decimal).test(word) ? Number(word) : Number.NaN;
      return Number.isFinite(number) ? number : word;
    }
    case 'boolean':
      return word === 'true' || (word === 'false' ? false : word);
    case 'string':
      return typed;
    case 'user':
    case 'role':
    case 'channel':
      return word;
    default:
      return type satisfies never;
  }
}
