/** Whether `char` is an ASCII letter or digit. */
export const isWord = (char: string | undefined): boolean => char !== undefined && /^[A-Za-z0-9]$/.test(char);
/** Whether `char` is white space, or undefined because the text has ended. */
export const isSpace = (char: string | undefined): boolean => char === undefined || /^\s$/.test(char);

// These patterns are sticky. Each is bounded or stops at a character that begins the next construct, so that no text is scanned repeatedly.
/** Characters that begin no construct. */
export const plain = /[^\\`*_~|<@hH]+/y;
/** A user mention, a role mention, an emoji or a link in angle brackets. Groups: user id, role id, `a` if animated, emoji name, emoji id, URL. */
export const bracketed =
  /<(?:@([0-9]{1,19})|@&([0-9]{1,19})|(a?):([A-Za-z0-9_]{1,32}):([0-9]{1,19})|([hH][tT]{2}[pP][sS]?:\/\/[^\s<>]+))>/y;
/** `@everyone` or `@here`, unless a longer word begins with it. */
export const everyone = /@(everyone|here)(?![A-Za-z0-9])/y;
/** The beginning of a bare link. */
export const linkStart = /https?:\/\/(?=[^\s<>`|*~_.,:;!?'"()\]])/iy;
/** The first line of a code block if it names a language and the block is not blank after it. */
export const langLine = /^([A-Za-z0-9_+#.-]{1,20})\r?\n(?=[^]*\S)/;

/** The match of a sticky pattern exactly at `at`, or null. */
export const matchAt = (pattern: RegExp, content: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(content);
};

/** The length of the run of equal characters that begins at `at`. */
export function runLength(content: string, at: number): number {
  let end = at + 1;
  while (content[end] === content[at]) end++;
  return end - at;
}

/** The index of the next run of exactly `ticks` backticks (1 or 2), or of the next three backticks (3). Returns -1 if there is none. */
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

/** The end of a bare link: before white space, `<`, `>`, a backtick, `||` or an open marker, without trailing punctuation and unmatched closing parentheses. */
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
