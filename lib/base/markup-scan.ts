/** Whether an ASCII letter or digit. */
export const isWord = (char: string | undefined): boolean => char !== undefined && /^[A-Za-z0-9]$/.test(char);
/** Whether white space, or past the end. */
export const isSpace = (char: string | undefined): boolean => char === undefined || /^\s$/.test(char);

// Sticky, and each either bounded or stopping at a character that begins the next construct: nothing is read over and over.
/** Characters that begin nothing. */
export const plain = /[^\\`*_~|<@hH]+/y;
/** User, role, animated?, emoji name, emoji id, or link in angle brackets. */
export const angled = /<(?:@([0-9]{1,19})|@&([0-9]{1,19})|(a?):([A-Za-z0-9_]{1,32}):([0-9]{1,19})|([hH][tT]{2}[pP][sS]?:\/\/[^\s<>]+))>/y;
/** `@everyone` or `@here`, not the beginning of a longer word. */
export const everyone = /@(everyone|here)(?![A-Za-z0-9])/y;
/** The beginning of a bare link. */
export const scheme = /https?:\/\/(?=[^\s<>`|*~_.,:;!?'"()\]])/iy;
/** The first line of a code block when it names a language. */
export const langLine = /^([A-Za-z0-9_+#.-]{1,20})\r?\n(?=[^]*\S)/;

/** What a sticky pattern finds exactly at `at`. */
export const match = (pattern: RegExp, content: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(content);
};

/** How many times the character at `at` stands there in a row. */
export function runLength(content: string, at: number): number {
  let end = at + 1;
  while (content[end] === content[at]) end++;
  return end - at;
}

/** Where the next run of exactly one or two backticks begins, or the next three; -1 when there is none. */
export function findTicks(content: string, from: number, ticks: number): number {
  if (ticks === 3) return content.indexOf('```', from);
  let found = content.indexOf('`', from);
  while (found >= 0) {
    const length = runLength(content, found);
    if (length === ticks) return found;
    found = content.indexOf('`', found + length);
  }
  return -1;
}

/** Where a bare link ends: before white space, an angle bracket, bars or an open marker, and without the sentence's own punctuation. */
export function urlEnd(content: string, from: number, markers: string[]): number {
  let end = from;
  let depth = 0;
  for (; end < content.length; end++) {
    const char = content.charAt(end);
    if (isSpace(char) || char === '<' || char === '>' || char === '`' || content.startsWith('||', end)) break;
    if (markers.some((marker) => content.startsWith(marker, end))) break;
    if (char === '(') depth++;
    else if (char === ')') depth--;
  }
  while (end > from) {
    const last = content.charAt(end - 1);
    if (last === ')' && depth < 0) depth++;
    else if (!'.,:;!?\'"]'.includes(last)) break;
    end--;
  }
  return end;
}
