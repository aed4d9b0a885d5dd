import { escapeMarkup } from './markup-escape.ts';
import { cut, isBlank, lengthOf, wellFormed } from './text.ts';

/** What is not seen, or turns the direction of what follows. */
const unseen = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu;

/** Words of ASCII with single spaces between them: as they should be, which most are. */
const tidy = /^[!-~]+(?: [!-~]+)*$/;

/** Text of others as one line: what is not seen taken away, white space collapsed; empty when nothing of it can be seen. */
export function oneLine(text: string): string {
  if (tidy.test(text)) return text;
  const words = wellFormed(text).replace(unseen, ' ').replace(/\s+/g, ' ').trim();
  return isBlank(words) ? '' : words;
}

/**
 * Words as an embed's: marks escaped, so that they are shown as text and neither ping nor link, at most `max` code points with the
 * backslashes. What was cut ends in `…`.
 */
export function escapeWithin(words: string, max: number): string {
  let kept = cut(words, max);
  for (;;) {
    const shown = escapeMarkup(kept.length < words.length ? `${kept.trimEnd()}…` : kept);
    const over = lengthOf(shown) - max;
    if (over <= 0) return shown;
    // Every character is at most two when it is escaped: half of what is too much is never too much to take.
    kept = cut(kept, lengthOf(kept) - Math.ceil(over / 2));
  }
}

/** Text of others as an embed's, on one line and of at most `max` code points (`oneLine`, `escapeWithin`). */
export const plainText = (text: string, max: number): string => escapeWithin(oneLine(text), max);
