/** What is being typed that can be completed: its sign, where that stands, and what follows it up to the caret. */
export interface Query {
  sign: '@' | '#' | ':' | '/';
  start: number;
  wanted: string;
}

/** A query is looked for this far before the caret, in UTF-16 units. */
const farthest = 80;
const command = /^\/([a-z0-9_-]{0,32})$/i;
/** Names may hold one space while they are typed; an emoji needs two letters, as a colon has other uses. */
const query = /(?:^|[\s()[\]{}"'*_~|>-])(?:(@)([^\s@#:`]{0,32}(?: [^\s@#:`]{1,32})?)|(#)([^\s@#:`]{0,60})|(:)([a-z0-9_+-]{2,32}))$/i;

/** Whether code is being written at the end of a text: nothing is completed there. */
function isInCode(text: string): boolean {
  if (text.split('```').length % 2 === 0) return true;
  const line = text.slice(text.lastIndexOf('\n') + 1).replaceAll('```', '');
  return line.split('`').length % 2 === 0;
}

/** What can be completed at the caret; null when nothing can, also after a word of `done` that was completed before. */
export function queryAt(text: string, caret: number, done: Iterable<string>): Query | null {
  const before = text.slice(0, caret);
  const slash = command.exec(before);
  if (slash) return { sign: '/', start: 0, wanted: slash[1] ?? '' };
  const found = query.exec(before.slice(-farthest));
  const sign = (found?.[1] ?? found?.[3] ?? found?.[5]) as Query['sign'] | undefined;
  if (!found || !sign) return null;
  const wanted = found[2] ?? found[4] ?? found[6] ?? '';
  const start = caret - wanted.length - 1;
  for (const word of done) if (before.startsWith(word, start) && !/^[\p{L}\p{N}_]/u.test(before.slice(start + word.length))) return null;
  return isInCode(before.slice(0, start)) ? null : { sign, start, wanted };
}
