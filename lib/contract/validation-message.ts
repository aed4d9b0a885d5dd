import type { ErrorObject } from 'ajv/dist/2020.js';
import { type CharacterRule, characterTexts } from './characters.ts';

/** The keywords of a schema that the texts use. `patternText` and `characters` are not part of JSON Schema. `patternText` is the sentence for a value that does not match `pattern`. */
interface SchemaKeywords {
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  patternText?: string;
  characters?: CharacterRule;
}

const typeNames: Record<string, string> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** `a`, `a or b`, or `a, b, or c`. */
export function joinAlternatives(alternatives: readonly string[]): string {
  const unique = [...new Set(alternatives)];
  const last = unique.pop() ?? '';
  if (unique.length === 0) return last;
  return unique.length === 1 && !last.includes(' or ') ? `${unique[0]} or ${last}` : `${unique.join(', ')}, or ${last}`;
}

/** A type of JSON Schema, or a list of them, in words: `a whole number or null`. */
export const toTypeName = (type: unknown): string => joinAlternatives([type].flat().map((name) => typeNames[String(name)] ?? String(name)));

/** `2 to 32`, `at least 2` or `at most 32`. */
function rangeText(low: number | undefined, high: number | undefined): string {
  if (low !== undefined && high !== undefined) return low === high ? `exactly ${low}` : `${low} to ${high}`;
  return low === undefined ? `at most ${high}` : `at least ${low}`;
}

/** Describes an error as a sentence for the person who typed the value. */
export function toValidationMessage({ keyword, params, parentSchema }: ErrorObject): string {
  const schema = (parentSchema ?? {}) as SchemaKeywords;
  switch (keyword) {
    case 'required':
      return 'This field is required.';
    case 'minLength':
    case 'maxLength':
      return `Use ${rangeText(schema.minLength, schema.maxLength)} characters.`;
    case 'minimum':
    case 'maximum':
      return `Use a number: ${rangeText(schema.minimum, schema.maximum)}.`;
    case 'minItems':
    case 'maxItems':
      return `Use ${rangeText(schema.minItems, schema.maxItems)} entries.`;
    case 'pattern':
      return schema.patternText ?? 'This has the wrong format.';
    case 'characters':
      return characterTexts[schema.characters ?? 'text'];
    case 'type':
      return `This must be ${toTypeName(params.type)}.`;
    case 'const':
      return `This must be ${String(params.allowedValue)}.`;
    case 'enum':
      return `Use one of: ${(params.allowedValues as unknown[]).join(', ')}.`;
    case 'format':
      return 'Use a date and time such as 2026-01-31T12:00:00.000Z.';
    default:
      return 'This value is not valid.';
  }
}
