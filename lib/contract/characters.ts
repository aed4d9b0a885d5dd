import { hasControlCharacters, isName } from '../base/text.ts';

/** The rules of the keyword `characters`, which is no part of JSON Schema: which characters a text may have (docs/behavior/requests.md#text). */
export const characterRules = { name: isName, text: (text: string) => !hasControlCharacters(text) } as const satisfies Record<
  string,
  (text: string) => boolean
>;
export type CharacterRule = keyof typeof characterRules;

/** The sentence for a text that does not follow a rule. */
export const characterTexts: Record<CharacterRule, string> = {
  name: 'Use one line that is not blank, without control characters.',
  text: 'Use no control characters other than tabs and line breaks.',
};
