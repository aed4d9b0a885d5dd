/** The number of Unicode code points in `text`. Every length limit counts code points (docs/behavior/requests.md#text). */
export function countCodePoints(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdbff || i + 1 >= text.length) count++;
    else {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next <= 0xdfff) i++;
      count++;
    }
  }
  return count;
}

/** The first `count` code points of `text`; never splits one. */
export function truncate(text: string, count: number): string {
  if (text.length <= count) return text;
  let counted = 0;
  let end = 0;
  for (const char of text) {
    if (counted++ >= count) break;
    end += char.length;
  }
  return text.slice(0, end);
}

/** Whether `text` is blank: only white space, control characters and characters without width (docs/behavior/requests.md#text). */
export const isBlank = (text: string): boolean => /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u.test(text);

/** Replaces each unpaired half of a surrogate pair with U+FFFD, so that `text` can be stored and sent. The length does not change. */
export const toWellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

/**
 * `text` in the form that searches compare, without differences of case in any script. It is converted through both cases, because some letters have several
 * forms in one case (σ and ς, ß and SS).
 */
export const foldCase = (text: string): string =>
  Array.from(text.normalize('NFC').toLowerCase().toUpperCase(), (char) => char.toLowerCase()).join('');
