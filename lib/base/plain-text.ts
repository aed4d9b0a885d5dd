import { escapeMarkup } from './markup-escape.ts';
import { cut, isBlank, lengthOf, wellFormed } from './text.ts';

/** Characters that are invisible, or that change the direction of the text after them. */
const unseen = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu;

/** ASCII words with single spaces between them. Most texts match, and need no cleaning. */
const tidy = /^[!-~]+(?: [!-~]+)*$/;

/** Turns untrusted text into one line: replaces invisible characters with spaces and collapses white space. Returns '' if nothing visible is left. */
export function oneLine(text: string): string {
  if (tidy.test(text)) return text;
  const words = wellFormed(text).replace(unseen, ' ').replace(/\s+/g, ' ').trim();
  return isBlank(words) ? '' : words;
}

/**
 * Escapes the markup in `words`, so that an embed shows them as text, without mentions and links. The result has at most `max` code points, backslashes
 * included. Text that was cut ends in `…`.
 */
export function escapeWithin(words: string, max: number): string {
  let kept = cut(words, max);
  for (;;) {
    const shown = escapeMarkup(kept.length < words.length ? `${kept.trimEnd()}…` : kept);
    const over = lengthOf(shown) - max;
    if (over <= 0) return shown;
    // An escaped character has at most two code points, so removing half of the excess never removes too much.
    kept = cut(kept, lengthOf(kept) - Math.ceil(over / 2));
  }
}

/** Untrusted text for an embed, on one line and with at most `max` code points (`oneLine`, `escapeWithin`). */
export const plainText = (text: string, max: number): string => escapeWithin(oneLine(text), max);
