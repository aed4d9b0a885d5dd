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

/** White space, control characters and characters that show nothing: without width, an empty braille cell, a note without a head, marks of annotations. */
const blank = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb\u{1d159}]*$/u;

/** Whether `text` is blank: only white space, control characters and characters that show nothing (docs/behavior/requests.md#text). */
export const isBlank = (text: string): boolean => blank.test(text);

/** Whether `text` has control characters other than tabs and line breaks (docs/behavior/requests.md#text). */
export const hasControlCharacters = (text: string): boolean => /[^\P{Cc}\t\n\r]/u.test(text);

/** Whether `text` can be a name: one line that shows something, without control characters other than tabs (docs/behavior/requests.md#names). */
export const isName = (text: string): boolean => !isBlank(text) && !/[\n\r\u2028\u2029]/.test(text) && !hasControlCharacters(text);

/** Replaces each unpaired half of a surrogate pair with U+FFFD, so that `text` can be stored and sent. The length does not change. */
export const toWellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

/**
 * `text` without differences of case in any script: two texts are the same words if these are equal. It is converted through both cases, because some letters have
 * several forms in one case (σ and ς, ß and SS).
 */
export const foldCase = (text: string): string =>
  Array.from(text.normalize('NFC').toLowerCase().toUpperCase(), (char) => char.toLowerCase()).join('');

/** Accents and other marks that a search ignores: those of Latin, Greek and Cyrillic letters, and the vowel points of Hebrew and Arabic. */
const searchedMarks =
  /[\u0300-\u036f]|[\u0591-\u05bd]|\u05bf|[\u05c1-\u05c2]|[\u05c4-\u05c5]|\u05c7|[\u064b-\u065f]|\u0670|[\u1ab0-\u1aff]|[\u1dc0-\u1dff]|[\u20d0-\u20ff]|[\ufe20-\ufe2f]/g;
/** Letters that have no accent for Unicode, but one for people. */
const plainLetters: Readonly<Record<string, string>> = {
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ı: 'i',
  ł: 'l',
  ŧ: 't',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
};

/**
 * `text` in the form that searches compare, in the service and in browsers: without case, accents, and differences of width and style (`José` and `ｊｏｓｅ` as `jose`,
 * `İstanbul` as `istanbul`). Marks that make another letter stay, such as those of Japanese and Indian scripts. A text of nothing but
 * accents keeps them.
 */
export function foldSearch(text: string): string {
  const plain = foldCase(text.normalize('NFKD').replace(searchedMarks, ''));
  return plain.replace(/[øđðħıłŧæœþ]/g, (letter) => plainLetters[letter] ?? letter).normalize('NFC') || foldCase(text);
}

/**
 * The texts to search for instead of `query`: as `foldSearch` writes it and, if that differs, as `foldCase` does, which an older version beside this one still
 * stores.
 */
export const toNeedles = (query: string): string[] => [...new Set([foldSearch(query), foldCase(query)])];
