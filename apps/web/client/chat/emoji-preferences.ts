import { effect, signal } from '@preact/signals';
import { readStored, readStoredWords, writeStored } from '../../ui/browser-storage.ts';

const maxUsed = 27;
const keys = { used: 'parlance.emoji.used', tone: 'parlance.emoji.tone' };

/** The skin tones by number (0 is none), each with an example hand. */
export const toneNames: readonly { name: string; hand: string }[] = [
  { name: 'No skin tone', hand: '✋' },
  { name: 'Light skin tone', hand: '✋🏻' },
  { name: 'Medium-light skin tone', hand: '✋🏼' },
  { name: 'Medium skin tone', hand: '✋🏽' },
  { name: 'Medium-dark skin tone', hand: '✋🏾' },
  { name: 'Dark skin tone', hand: '✋🏿' },
];

const storedTone = Number(readStored(keys.tone));

/** The skin tone that the user chose, as an index of `toneNames`. Stored in the browser. */
export const skinTone = signal(Number.isInteger(storedTone) && storedTone in toneNames ? storedTone : 0);

/** The most recently used emoji, latest first. Stored in the browser. */
export const usedEmojis = signal<readonly string[]>(readStoredWords(keys.used).slice(0, maxUsed));

/** Records that an emoji was used. */
export const recordEmojiUse = (emoji: string): void => {
  usedEmojis.value = [emoji, ...usedEmojis.value.filter((one) => one !== emoji)].slice(0, maxUsed);
  writeStored(keys.used, usedEmojis.value.join(' '));
};

effect(() => writeStored(keys.tone, String(skinTone.value)));
