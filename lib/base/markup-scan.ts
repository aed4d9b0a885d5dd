/** A letter with its marks, or a digit, of a script that separates words by spaces: in Chinese, Japanese, Korean and Thai, words follow each other directly. */
const wordPattern =
  '(?![\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}\\p{scx=Bopo}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}])[\\p{L}\\p{M}\\p{Nd}]';
const wordBefore = new RegExp(`${wordPattern}$`, 'u');
/** Whether the character that ends before `at` belongs to a word. */
export const endsWord = (content: string, at: number): boolean => wordBefore.test(content.slice(Math.max(0, at - 2), at));
/** Whether `char` is white space, or undefined because the text has ended. */
export const isSpace = (char: string | undefined): boolean => char === undefined || /^\s$/.test(char);

// These patterns are sticky. Each is bounded or stops at a character that begins the next construct, so that no text is scanned repeatedly.
/** Characters that begin no construct. */
export const plain = /[^\\`*_~|<@hH]+/y;
/**
 * A mention of a user, role or channel, an emoji or a link in angle brackets. Groups: user id, role id, `a` if animated, emoji name, emoji id, URL, channel id.
 */
export const bracketed =
  /<(?:@([0-9]{1,19})|@&([0-9]{1,19})|(a?):([A-Za-z0-9_]{1,32}):([0-9]{1,19})|([hH][tT]{2}[pP][sS]?:\/\/[^\s<>]+)|#([0-9]{1,19}))>/y;
/** `@everyone` or `@here`, unless a longer word begins with it, or it follows other text and begins a domain, as in an email address. */
export const everyone = new RegExp(`@(everyone|here)(?!${wordPattern})(?!(?<=\\S@(?:everyone|here))[.．。][\\p{L}\\p{N}])`, 'uy');
/** Punctuation that is not ASCII. */
const otherPunctuation = '[^\\P{P}\\x21-\\x7e]';
/** The beginning of a bare link. A host begins with no punctuation, except the bracket of an IPv6 address. */
export const linkStart = new RegExp(`[hH][tT]{2}[pP][sS]?://(?=[^\\s<>\`|*~_.,:;!?'"()\\]])(?!${otherPunctuation})`, 'uy');
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

/** Characters that end a link wherever they are: sentence marks of scripts without spaces, and invisible characters of direction and width. */
const linkBreak = /[。、，！？；：｡､\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f]/;
/** Quotation marks and brackets that are not ASCII. A link keeps a closing one only after an opening one. */
const opening = '（［｛【〔〖〘〚「『《〈｢“‘«‹';
const closing = '）］｝】〕〗〙〛」』》〉｣”’»›';
/** Punctuation that does not belong to a link that ends with it: some of ASCII, all others except `closing`, which `urlEnd` has counted. */
const trailing = new RegExp(`^(?:[.,:;!?'"\\]]|(?![${closing}])${otherPunctuation})$`, 'u');

/**
 * The end of a bare link: before white space, `<`, `>`, a backtick, `||` or an open marker, without trailing punctuation and unmatched closing parentheses.
 * Sentence marks and unmatched closing brackets of scripts without spaces end it, too: text follows them directly.
 */
export function urlEnd(content: string, from: number, markers: string[]): number {
  let end = from;
  let depth = 0;
  let wideDepth = 0;
  for (; end < content.length; end++) {
    const char = content.charAt(end);
    if (isSpace(char) || char === '<' || char === '>' || char === '`' || content.startsWith('||', end) || linkBreak.test(char)) break;
    if (markers.some((marker) => content.startsWith(marker, end))) break;
    if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (opening.includes(char)) wideDepth++;
    else if (closing.includes(char) && wideDepth-- === 0) break;
  }
  while (end > from) {
    const last = content.charAt(end - 1);
    if (last === ')' && depth < 0) depth++;
    else if (!trailing.test(last)) break;
    end--;
  }
  return end;
}
