import { limits } from './limits.ts';
import { countCodePoints } from './text.ts';

/** An emoji of a reaction. */
export interface Emoji {
  /** Equal for equal emoji: a Unicode emoji without variation selectors (but with its skin tone), or the id of a custom emoji. */
  identity: string;
  /** The displayed form: a fully-qualified Unicode emoji, or `name:id`. */
  emoji: string;
}

/**
 * One emoji that Unicode recommends for interchange (RGI), or one of the letters 🇦 to 🇿 (regional indicators), of which flags are made. The flag `v` also matches
 * several code points: flags, keycaps, skin tones, ZWJ sequences.
 */
const unicodeEmoji = new RegExp('^[\\p{RGI_Emoji}\\p{Regional_Indicator}]$', 'v');
const customEmoji = /^[A-Za-z0-9_]{1,32}:([0-9]{1,19})$/;
/** A variation selector (text or emoji style) after a character that it can follow. */
const variationSelectors = /(?<=\p{Emoji})[\uFE0E\uFE0F]/gu;
/** An emoji character that is shown as text unless a variation selector or a skin tone follows it. */
const textByDefault = /(?!\p{Emoji_Presentation})\p{Emoji}(?!\p{Emoji_Modifier})/gu;

/**
 * Reads the emoji of a path (docs/behavior/messages.md#emoji): one Unicode emoji, with or without its variation selectors, or a custom emoji as
 * `name:id`. Returns null for anything else: plain text, digits, several emoji, nothing.
 */
export function readEmoji(text: string): Emoji | null {
  if (countCodePoints(text) > limits.emojiChars) return null;
  const id = customEmoji.exec(text)?.[1];
  if (id !== undefined) return { identity: id, emoji: text };
  const identity = text.replace(variationSelectors, '');
  const emoji = identity.replace(textByDefault, '$&\uFE0F');
  return unicodeEmoji.test(emoji) ? { identity, emoji } : null;
}
