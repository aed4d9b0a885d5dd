import { escapeMarkup } from './markup-escape.ts';
import { countCodePoints, isBlank, toWellFormed, truncate } from './text.ts';

/** Characters that are invisible, or that change the direction of the text after them. */
const hiddenCharacters = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu;

/** ASCII words with single spaces between them. Most texts match, and need no cleaning. */
const cleanAscii = /^[!-~]+(?: [!-~]+)*$/;

/** Turns untrusted text into one line: replaces invisible characters with spaces and collapses white space. Returns '' if nothing visible is left. */
export function toOneLine(text: string): string {
  if (cleanAscii.test(text)) return text;
  const words = toWellFormed(text).replace(hiddenCharacters, ' ').replace(/\s+/g, ' ').trim();
  return isBlank(words) ? '' : words;
}

/**
 * Escapes the markup in `words`, so that an embed shows them as text, without mentions and links. The result has at most `max` code points, backslashes
 * included. Text that was cut ends in `…`.
 */
export function escapeAndTruncate(words: string, max: number): string {
  let truncated = truncate(words, max);
  for (;;) {
    const escaped = escapeMarkup(truncated.length < words.length ? `${truncated.trimEnd()}…` : truncated);
    const excess = countCodePoints(escaped) - max;
    if (excess <= 0) return escaped;
    // An escaped character has at most two code points, so removing half of the excess never removes too much.
    truncated = truncate(truncated, countCodePoints(truncated) - Math.ceil(excess / 2));
  }
}

/** Untrusted text for an embed, on one line and with at most `max` code points (`toOneLine`, `escapeAndTruncate`). */
export const toPlainText = (text: string, max: number): string => escapeAndTruncate(toOneLine(text), max);
