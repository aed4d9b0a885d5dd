import { leafTokens, parseMarkup } from '../../../../lib/base/markup.ts';
import { queryAt } from './completion-query.ts';
import { skinTone } from './emoji-preferences.ts';
import { emojiNamed, loadEmojis } from './emojis.ts';

/** Matches `:tada:`, but not within a word or a time, or after a backslash. */
const shortcode = /(?<![\p{L}\p{N}_\\]):([a-z0-9_+-]{1,40}):(?![\p{L}\p{N}_])/giu;

/** How long sending a message waits for the emoji data, in milliseconds. Usually they are already loaded, because completion loads them at the first colon. */
const loadMs = 2_000;

function emojiOf(name: string): string | undefined {
  const found = emojiNamed(name.toLowerCase());
  return found && (found.skins[skinTone.value - 1] ?? found.emoji);
}

/** Replaces shortcodes by emoji, except in code, links and custom emoji. Unknown shortcodes stay, and all stay when the emoji data cannot be loaded in time. */
export async function withEmojis(content: string): Promise<string> {
  if (content.search(shortcode) < 0) return content;
  await Promise.race([loadEmojis().catch(() => undefined), new Promise((done) => setTimeout(done, loadMs))]);
  let shown = '';
  let at = 0;
  for (const { type, start, end } of leafTokens(parseMarkup(content))) {
    if (type !== 'text') continue;
    // Match in the whole content, because the characters before and after this part matter too.
    shortcode.lastIndex = start;
    for (let match = shortcode.exec(content); match && match.index + match[0].length <= end; match = shortcode.exec(content)) {
      const emoji = emojiOf(match[1] ?? '');
      if (emoji === undefined) continue;
      shown += content.slice(at, match.index) + emoji;
      at = match.index + match[0].length;
    }
  }
  shortcode.lastIndex = 0;
  return shown + content.slice(at);
}

/** Returns the shortcode whose closing colon was just typed before the caret, and its emoji; null when there is none or the emoji data are not loaded yet. */
export function shortcodeBefore(text: string, caret: number): { start: number; emoji: string } | null {
  const query = text[caret - 1] === ':' ? queryAt(text, caret - 1, []) : null;
  const emoji = query?.sign === ':' ? emojiOf(query.wanted) : undefined;
  return query && emoji !== undefined ? { start: query.start, emoji } : null;
}
