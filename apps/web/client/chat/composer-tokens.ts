import { leafTokens, parseMarkup, type Token } from '../../../../lib/base/markup.ts';
import { wordCharacter } from './word-boundary.ts';

/** The meaning of a readable word in the composer: its form in a message, and its form in a command option. */
export interface Meaning {
  content: string;
  option: string;
}

/** The readable words that completion inserted, such as `@Ada` or `#general`, with their meanings. */
export type Tokens = ReadonlyMap<string, Meaning>;

/**
 * Names that cannot be used as a word: names with a special meaning, empty names, and names with control characters or direction marks, which are displayed
 * as something else.
 */
const unfit = /^(?:everyone|here)$|^$|[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

/**
 * Returns the word for `meaning`: `sign` and the first of `names` that is allowed and does not yet have another meaning; if there is none, the content of the
 * meaning itself.
 */
export function tokenFor(tokens: Tokens, sign: '@' | '#', names: readonly string[], meaning: Meaning): string {
  for (const name of names) {
    const known = tokens.get(sign + name);
    if (!unfit.test(name) && (!known || known.content === meaning.content)) return sign + name;
  }
  return meaning.content;
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/**
 * Returns a pattern that finds every token of a text, except within a longer word or after a backslash. The longest token matches first. undefined without
 * tokens.
 */
function finderOf(tokens: Tokens): RegExp | undefined {
  const words = [...tokens.keys()].sort((a, b) => b.length - a.length).map(escaped);
  return words.length ? new RegExp(`(?<!${wordCharacter}|\\\\)(?:${words.join('|')})(?!${wordCharacter})`, 'gu') : undefined;
}

/** Returns the code and links of a parsed text, in which tokens are not replaced. */
const literalSpans = (tokens: readonly Token[]): Token[] =>
  [...leafTokens(tokens)].filter(({ type }) => ['code', 'codeblock', 'link'].includes(type));

/** Converts a text to the form that is sent: each token is replaced by its meaning, except in code and links. */
export function toContent(text: string, tokens: Tokens, as: keyof Meaning): string {
  const finder = finderOf(tokens);
  if (!finder) return text;
  // A name may contain markup, so names are masked before the text is parsed for code.
  const spans = literalSpans(parseMarkup(text.replace(finder, (token) => 'x'.repeat(token.length))));
  return text.replace(finder, (token, at: number) => {
    const isLiteral = spans.some(({ start, end }) => at >= start && at < end);
    return isLiteral ? token : (tokens.get(token)?.[as] ?? token);
  });
}

/** The kinds of mentions that the composer shows by a name. */
export type MentionKind = 'userMention' | 'roleMention' | 'channelMention';

/**
 * The inverse of `toContent`, to edit a message: each mention becomes a readable word, by the first allowed name of `namesOf`. If the result would not convert
 * back to the same content, the content stays unchanged.
 */
export function readableOf(
  content: string,
  namesOf: (kind: MentionKind, id: string) => readonly string[],
): { text: string; tokens: Tokens } {
  const tokens = new Map<string, Meaning>();
  let text = '';
  let at = 0;
  for (const token of leafTokens(parseMarkup(content))) {
    if (token.type !== 'userMention' && token.type !== 'roleMention' && token.type !== 'channelMention') continue;
    const isChannel = token.type === 'channelMention';
    const written = content.slice(token.start, token.end);
    const meaning = { content: written, option: isChannel ? token.id : written };
    const word = tokenFor(tokens, isChannel ? '#' : '@', namesOf(token.type, token.id), meaning);
    if (word !== written) tokens.set(word, meaning);
    text += content.slice(at, token.start) + word;
    at = token.end;
  }
  text += content.slice(at);
  return toContent(text, tokens, 'content') === content ? { text, tokens } : { text: content, tokens: new Map() };
}
