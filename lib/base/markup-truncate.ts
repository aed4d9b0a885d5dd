import { leafTokens, parseMarkup, type Token } from './markup.ts';
import { countCodePoints, truncate } from './text.ts';

/** Returns the start of the tokens in at most `budget` code points. Formatting that is cut is closed again; mentions, links and emoji are not cut. */
function takeStart(content: string, tokens: readonly Token[], budget: number): string {
  let taken = '';
  let left = budget;
  for (const token of tokens) {
    const source = content.slice(token.start, token.end);
    const length = countCodePoints(source);
    if (length <= left) {
      taken += source;
      left -= length;
      continue;
    }
    if (token.type === 'text') return taken + truncate(source, left);
    if (!('children' in token)) return taken;
    const [first, last] = [token.children[0], token.children.at(-1)];
    const opening = content.slice(token.start, first?.start);
    const closing = content.slice(last?.end, token.end);
    const inside = takeStart(content, token.children, left - opening.length - closing.length).trimEnd();
    return inside === '' ? taken : taken + opening + inside + closing;
  }
  return taken;
}

/** The text outside spoilers. */
function openText(content: string): string {
  const withoutSpoilers = (tokens: readonly Token[]): Token[] =>
    tokens.flatMap((token) => (token.type === 'spoiler' ? [] : 'children' in token ? withoutSpoilers(token.children) : [token]));
  return [...leafTokens(withoutSpoilers(parseMarkup(content)))]
    .map((token) => ('text' in token ? token.text : content.slice(token.start, token.end)))
    .join('');
}

/**
 * Returns the start of a message content in at most `max` code points, for previews. Formatting that is cut is closed again, so that nothing of a spoiler is
 * shown that the whole content hides.
 */
export function truncateMarkup(content: string, max: number): string {
  if (countCodePoints(content) <= max) return content;
  const tokens = parseMarkup(content);
  const open = openText(content);
  // A cut can join characters to another marker or end in a backslash. Then less is taken.
  for (let budget = max; budget > 0; budget--) {
    const taken = takeStart(content, tokens, budget);
    if (open.startsWith(openText(taken))) return taken;
  }
  return '';
}
