import { leaves, parseMarkup, type Token } from '../../../../lib/base/markup.ts';

/** What a readable word of the composer stands for: as a message holds it, and as an option of a command takes it. */
export interface Meaning {
  content: string;
  option: string;
}

/** The readable words that were put in by completion, `@Ada` or `#general`, each with its meaning. */
export type Tokens = ReadonlyMap<string, Meaning>;

/** Names that would be taken for something else, or would show as something else: controls, and what changes the direction of writing. */
const unfit = /^(?:everyone|here)$|^$|[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

/** The word that stands for `meaning`: the first of `names` that is fit and does not stand for another already; the meaning itself when none is. */
export function tokenFor(tokens: Tokens, sign: '@' | '#', names: readonly string[], meaning: Meaning): string {
  for (const name of names) {
    const known = tokens.get(sign + name);
    if (!unfit.test(name) && (!known || known.content === meaning.content)) return sign + name;
  }
  return meaning.content;
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Finds every token of a text that is no part of a longer word nor behind a backslash, the longest where several begin; undefined without tokens. */
function finderOf(tokens: Tokens): RegExp | undefined {
  const words = [...tokens.keys()].sort((a, b) => b.length - a.length).map(escaped);
  return words.length ? new RegExp(`(?<![\\p{L}\\p{N}_\\\\])(?:${words.join('|')})(?![\\p{L}\\p{N}_])`, 'gu') : undefined;
}

/** Where code and links stand: what is written there is meant as it is. */
const literalSpans = (tokens: readonly Token[]): Token[] =>
  [...leaves(tokens)].filter(({ type }) => ['code', 'codeblock', 'link'].includes(type));

/** A text as it is sent: each token replaced by what it stands for, except in code and links. */
export function wireOf(text: string, tokens: Tokens, as: keyof Meaning): string {
  const finder = finderOf(tokens);
  if (!finder) return text;
  // Names may hold markup of their own, so they are hidden from the reader that looks for code.
  const spans = literalSpans(parseMarkup(text.replace(finder, (token) => 'x'.repeat(token.length))));
  return text.replace(finder, (token, at: number) => {
    const isLiteral = spans.some(({ start, end }) => at >= start && at < end);
    return isLiteral ? token : (tokens.get(token)?.[as] ?? token);
  });
}

/** The inverse of `wireOf`, for a message that is edited: each mention as a readable word, by the first fit name of `namesOf`. A text that would not become the same again stays as it is. */
export function readableOf(
  content: string,
  namesOf: (kind: 'userMention' | 'roleMention', id: string) => readonly string[],
): { text: string; tokens: Tokens } {
  const tokens = new Map<string, Meaning>();
  let text = '';
  let at = 0;
  for (const token of leaves(parseMarkup(content))) {
    if (token.type !== 'userMention' && token.type !== 'roleMention') continue;
    const written = content.slice(token.start, token.end);
    const meaning = { content: written, option: written };
    const word = tokenFor(tokens, '@', namesOf(token.type, token.id), meaning);
    if (word !== written) tokens.set(word, meaning);
    text += content.slice(at, token.start) + word;
    at = token.end;
  }
  text += content.slice(at);
  return wireOf(text, tokens, 'content') === content ? { text, tokens } : { text: content, tokens: new Map() };
}
