/** The number of Unicode code points in `text`. Every limit of a length counts these (docs/behavior/requests.md#text). */
export function lengthOf(text: string): number {
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
export function cut(text: string, count: number): string {
  if (text.length <= count) return text;
  let taken = 0;
  let end = 0;
  for (const char of text) {
    if (taken++ >= count) break;
    end += char.length;
  }
  return text.slice(0, end);
}

/** Whether `text` is blank: only white space, control characters and characters without width (docs/behavior/requests.md#text). */
export const isBlank = (text: string): boolean => /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u.test(text);

/** `text` as it can be stored and sent: a half of a surrogate pair without its other half becomes U+FFFD. Its length stays. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

/**
 * `text` as searches compare it: alike in any case, whatever the script. By both cases, as one letter may have several forms in one of them (σ and ς, ß and SS).
 */
export const folded = (text: string): string =>
  Array.from(text.normalize('NFC').toLowerCase().toUpperCase(), (char) => char.toLowerCase()).join('');
