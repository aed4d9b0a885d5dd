/** The scripts that do not separate words by spaces, so that a name can stand directly beside other letters, as in `@Adaさん`. */
const unspaced =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{scx=Bopomofo}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}';

/** The source of a pattern for one character that continues a word. Use it with the flag `u`. */
export const wordCharacter = `(?:(?![${unspaced}])[\\p{L}\\p{N}_])`;
