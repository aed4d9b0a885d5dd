import {
  bracketed,
  endsWord,
  everyone,
  findTicks,
  isSpace,
  langLine,
  linkStart,
  matchAt,
  plain,
  runLength,
  urlEnd,
} from './markup-scan.ts';

/** The position of a token in the content: UTF-16 offsets, `end` exclusive, markers and backslashes included. */
interface TokenSpan {
  start: number;
  end: number;
}

/** The kinds of formatting that contain other tokens. */
export type WrapKind = 'bold' | 'italic' | 'underline' | 'strike' | 'spoiler';

/**
 * One piece of formatted text (docs/behavior/messages.md#text-formatting). `text` is the displayed text, without backslashes. The spans are contiguous:
 * top-level tokens cover the whole content, and children cover the text between the markers of their parent.
 */
export type Token = TokenSpan &
  (
    | { type: 'text'; text: string }
    | { type: WrapKind; children: Token[] }
    | { type: 'code'; text: string }
    | { type: 'codeblock'; lang: string; text: string }
    | { type: 'link'; url: string; preview: boolean }
    | { type: 'userMention'; id: string }
    | { type: 'roleMention'; id: string }
    | { type: 'channelMention'; id: string }
    | { type: 'everyone'; kind: 'everyone' | 'here' }
    | { type: 'emoji'; name: string; id: string; animated: boolean }
  );

/** The mentions in message content: each id once, in the order of its first mention. The caller must check whether the ids exist. */
export interface Mentions {
  users: string[];
  roles: string[];
  everyone: boolean;
  here: boolean;
}

interface Frame {
  kind: WrapKind;
  marker: string;
  start: number;
  children: Token[];
}

const doubleMarkers = { '*': 'bold', _: 'underline', '~': 'strike', '|': 'spoiler' } as const satisfies Record<string, WrapKind>;
const isDoubleMarker = (char: string): char is keyof typeof doubleMarkers => char in doubleMarkers;
function addText(tokens: Token[], token: Token & { type: 'text' }): void {
  const last = tokens.at(-1);
  if (last?.type !== 'text') tokens.push(token);
  else {
    last.text += token.text;
    last.end = token.end;
  }
}

/** Parses one content from left to right. Open formatting is kept on a stack with each kind at most once, so closing is cheap. */
class Reader {
  private readonly content: string;
  private readonly top: Token[] = [];
  private readonly open: Frame[] = [];
  /** Lengths of backtick runs that have no closing run in the rest of the content. Each is searched for without success only once. */
  private readonly unclosedTicks = new Set<number>();
  private at = 0;

  constructor(content: string) {
    this.content = content;
  }

  read(): Token[] {
    while (this.at < this.content.length) {
      const char = this.content.charAt(this.at);
      if (char === '\\') this.escape();
      else if (char === '`') this.code();
      else if (isDoubleMarker(char)) this.markers(char);
      else if (!this.readAtom(char)) this.text(matchAt(plain, this.content, this.at)?.[0].length ?? 1);
    }
    while (this.open.length) this.closeAsText();
    return this.top;
  }

  private get children(): Token[] {
    return this.open.at(-1)?.children ?? this.top;
  }

  private text(length: number, shown = this.content.slice(this.at, this.at + length)): void {
    addText(this.children, { type: 'text', text: shown, start: this.at, end: this.at + length });
    this.at += length;
  }

  private push(token: Token): void {
    this.children.push(token);
    this.at = token.end;
  }

  private escape(): void {
    const next = this.content.codePointAt(this.at + 1);
    if (next === undefined) return this.text(1);
    const char = String.fromCodePoint(next);
    // Before a letter, a digit or white space, a backslash is shown (`C:\temp`), except before a link, which it turns into text.
    const showsBackslash = /^[A-Za-z0-9\s]$/.test(char) && !matchAt(linkStart, this.content, this.at + 1);
    this.text(1 + char.length, showsBackslash ? `\\${char}` : char);
  }

  private code(): void {
    const start = this.at;
    const ticks = runLength(this.content, start);
    const marker = Math.min(ticks, 3);
    const close = this.unclosedTicks.has(marker) ? -1 : findTicks(this.content, start + marker, marker);
    if (close < 0) this.unclosedTicks.add(marker);
    const inside = this.content.slice(start + marker, Math.max(close, 0));
    if (close < 0 || inside.trim() === '') return this.text(ticks);
    const end = close + marker;
    if (marker < 3) return this.push({ type: 'code', text: inside, start, end });
    const lang = langLine.exec(inside)?.[1] ?? '';
    const text = inside.slice(lang.length).replace(/^\r?\n/, '');
    this.push({ type: 'codeblock', lang, text: text.endsWith('\n') ? text.slice(0, text.endsWith('\r\n') ? -2 : -1) : text, start, end });
  }

  /** Parses a run of one marker character. Stars are read as `**` and `*`. Longer runs (`____`, `*****`) are lines or blanks to fill in, not formatting. */
  private markers(char: keyof typeof doubleMarkers): void {
    const length = runLength(this.content, this.at);
    const double = doubleMarkers[char];
    if (length > 3 && !(length === 4 && this.isOpen(double))) return this.text(length);
    if (length === 4) {
      this.toggle(double, char + char);
      return this.toggle(double, char + char);
    }
    if (char !== '*') return length === 1 ? this.text(1) : this.pair(double, char, length);
    if (length === 1) return this.star();
    if (length === 2) return this.toggle(double, '**');
    const inner = this.open.findLast((frame) => frame.marker[0] === '*');
    if (inner?.kind === 'italic') this.star();
    this.toggle(double, '**');
    if (inner?.kind !== 'italic') this.star();
  }

  private pair(kind: WrapKind, char: string, length: number): void {
    // In a run of three, the third character belongs to the text between the markers: it comes after an opening pair and before a closing one.
    const closing = this.isOpen(kind);
    if (length === 3 && closing) this.text(1);
    this.toggle(kind, char + char);
    if (length === 3 && !closing) this.text(1);
  }

  /** Parses a single star. `2 * 3 * 4` is not italic. */
  private star(): void {
    const beside = this.content[this.isOpen('italic') ? this.at - 1 : this.at + 1];
    if (isSpace(beside)) return this.text(1);
    this.toggle('italic', '*');
  }

  private isOpen(kind: WrapKind): boolean {
    return this.open.some((frame) => frame.kind === kind);
  }

  private toggle(kind: WrapKind, marker: string): void {
    if (!this.isOpen(kind)) {
      this.open.push({ kind, marker, start: this.at, children: [] });
      this.at += marker.length;
      return;
    }
    if (kind === 'bold') this.swapStars();
    while (this.open.at(-1)?.kind !== kind) this.closeAsText();
    const frame = this.open.at(-1);
    if (!frame?.children.length) return this.text(marker.length);
    this.open.pop();
    this.push({ type: kind, children: frame.children, start: frame.start, end: this.at + marker.length });
  }

  /** Swaps bold and italic. `***` is first read as bold around italic. In `***a** b*` the bold closes first, so the italic must be the outer one. */
  private swapStars(): void {
    const [bold, italic] = this.open.slice(-2);
    if (bold?.kind !== 'bold' || italic?.kind !== 'italic' || italic.start !== bold.start + 2) return;
    const start = bold.start;
    this.open.splice(-2, 2, { ...italic, start, children: [] }, { ...bold, start: start + 1, children: italic.children });
  }

  /** Turns the innermost open marker, which was not closed, into text, and moves its children to its parent. */
  private closeAsText(): void {
    const frame = this.open.pop();
    if (!frame) return;
    const target = this.children;
    addText(target, { type: 'text', text: frame.marker, start: frame.start, end: frame.start + frame.marker.length });
    for (const child of frame.children) {
      if (child.type === 'text') addText(target, child);
      else target.push(child);
    }
  }

  /** Parses a mention, an emoji or a link at the current position. Returns false if there is none. */
  private readAtom(char: string): boolean {
    const start = this.at;
    if (char === '<') {
      const found = matchAt(bracketed, this.content, start);
      if (!found) return false;
      const end = start + found[0].length;
      const [, user, role, animated, name, emoji, url, channel] = found;
      if (user) this.push({ type: 'userMention', id: user, start, end });
      else if (role) this.push({ type: 'roleMention', id: role, start, end });
      else if (channel) this.push({ type: 'channelMention', id: channel, start, end });
      else if (url) this.push({ type: 'link', url, preview: false, start, end });
      else if (name && emoji) this.push({ type: 'emoji', name, id: emoji, animated: animated !== '', start, end });
      return true;
    }
    if ((char !== '@' && char !== 'h' && char !== 'H') || endsWord(this.content, start)) return false;
    if (char === '@') {
      const kind = matchAt(everyone, this.content, start)?.[1];
      if (kind !== 'everyone' && kind !== 'here') return false;
      this.push({ type: 'everyone', kind, start, end: start + 1 + kind.length });
      return true;
    }
    const found = matchAt(linkStart, this.content, start)?.[0];
    if (!found) return false;
    const markers = this.open.map((frame) => frame.marker);
    const end = urlEnd(this.content, start + found.length, markers);
    this.push({ type: 'link', url: this.content.slice(start, end), preview: true, start, end });
    return true;
  }
}

/** Parses content into tokens. Every string is valid: markers that are never closed are text. Time and memory depend only on the length of the content. */
export function parseMarkup(content: string): Token[] {
  return new Reader(content).read();
}

/** Yields the tokens without children at any depth, in order. */
export function* leafTokens(tokens: readonly Token[]): Generator<Token> {
  for (const token of tokens) {
    if ('children' in token) yield* leafTokens(token.children);
    else yield token;
  }
}

/** The mentions in content. Mentions in code and after a backslash do not count (docs/behavior/messages.md#mentions). */
export function findMentions(content: string): Mentions {
  const found = { users: new Set<string>(), roles: new Set<string>(), everyone: false, here: false };
  if (content.includes('@'))
    for (const token of leafTokens(parseMarkup(content))) {
      if (token.type === 'userMention') found.users.add(token.id);
      else if (token.type === 'roleMention') found.roles.add(token.id);
      else if (token.type === 'everyone') found[token.kind] = true;
    }
  return { ...found, users: [...found.users], roles: [...found.roles] };
}

/** The links in content that may get a preview: http and https, outside `<…>` and code, each once, in order. */
export function findLinks(content: string): string[] {
  const found = new Set<string>();
  if (!/https?:/i.test(content)) return [];
  for (const token of leafTokens(parseMarkup(content))) if (token.type === 'link' && token.preview) found.add(token.url);
  return [...found];
}
