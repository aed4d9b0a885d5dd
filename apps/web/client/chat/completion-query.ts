import { wordCharacter } from './word-boundary.ts';

/** The text before the caret that can be completed: its sign, the position of the sign, and the text after it up to the caret. */
export interface Query {
  sign: '@' | '#' | ':' | '/';
  start: number;
  wanted: string;
}

/** How far before the caret a query may begin, in UTF-16 units. */
const maxLength = 80;
const command = /^\/([a-z0-9_-]{0,32})$/i;
/**
 * A name may contain one space while it is typed. An emoji needs at least two letters, because colons have other uses. A sign inside a word, URL or mention,
 * such as `name@host`, does not begin a query. An underscore before it is markup.
 */
const query = new RegExp(
  `(?<!(?!_)${wordCharacter}|[/@#<&=\\\\])(?:(@)([^\\s@#:\`]{0,32}(?: [^\\s@#:\`]{1,32})?)|(#)([^\\s@#:\`]{0,60})|(?<!:)(:)([a-z0-9_+-]{2,32}))$`,
  'iu',
);
const continuesWord = new RegExp(`^${wordCharacter}`, 'u');

/** Whether the end of a text is inside code, where nothing is completed. */
function isInCode(text: string): boolean {
  if (text.split('```').length % 2 === 0) return true;
  const line = text.slice(text.lastIndexOf('\n') + 1).replaceAll('```', '');
  return line.split('`').length % 2 === 0;
}

/** Returns what can be completed at the caret; null when nothing can be, for example after one of `completedWords`. */
export function queryAt(text: string, caret: number, completedWords: Iterable<string>): Query | null {
  const before = text.slice(0, caret);
  const slash = command.exec(before);
  if (slash) return { sign: '/', start: 0, wanted: slash[1] ?? '' };
  const found = query.exec(before.slice(-maxLength));
  const sign = (found?.[1] ?? found?.[3] ?? found?.[5]) as Query['sign'] | undefined;
  if (!found || !sign) return null;
  const wanted = found[2] ?? found[4] ?? found[6] ?? '';
  const start = caret - wanted.length - 1;
  for (const word of completedWords)
    if (before.startsWith(word, start) && !continuesWord.test(before.slice(start + word.length))) return null;
  return isInCode(before.slice(0, start)) ? null : { sign, start, wanted };
}
