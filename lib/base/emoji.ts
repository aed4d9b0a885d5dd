import { limits } from './limits.ts';
import { lengthOf } from './text.ts';

/** An emoji that one can react with. */
export interface Emoji {
  /** What makes two emoji the same: a Unicode emoji without variation selectors (skin tones differ), or the id of a custom one. */
  identity: string;
  /** As it is shown: a Unicode emoji in its fully-qualified form, or `name:id`. */
  emoji: string;
}

/** One emoji that Unicode recommends for interchange; `v` knows those of several code points: flags, keycaps, skin tones, joined ones. */
const unicode = new RegExp('^\\p{RGI_Emoji}$', 'v');
const custom = /^[A-Za-z0-9_]{1,32}:([0-9]{1,19})$/;
/** A selector of text or emoji style, behind what it may follow. */
const selector = /(?<=\p{Emoji})[\uFE0E\uFE0F]/gu;
/** What is shown as text unless a selector or a skin tone follows. */
const textByDefault = /(?!\p{Emoji_Presentation})\p{Emoji}(?!\p{Emoji_Modifier})/gu;

/**
 * Reads the emoji of a path (docs/behavior/messages.md#emoji): one Unicode emoji, with or without its variation selectors, or a custom emoji as
 * `name:id`. Returns null for anything else: plain text, digits, several emoji, nothing.
 */
export function readEmoji(text: string): Emoji | null {
  if (lengthOf(text) > limits.emojiChars) return null;
  const id = custom.exec(text)?.[1];
  if (id !== undefined) return { identity: id, emoji: text };
  const identity = text.replace(selector, '');
  const emoji = identity.replace(textByDefault, '$&\uFE0F');
  return unicode.test(emoji) ? { identity, emoji } : null;
}
