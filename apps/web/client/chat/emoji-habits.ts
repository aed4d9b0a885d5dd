import { effect, signal } from '@preact/signals';
import { keep, kept, keptWords } from '../../ui/kept.ts';

const mostUsed = 27;
const keys = { used: 'parlance.emoji.used', tone: 'parlance.emoji.tone' };

/** The skin tones by number, 0 without one, each with a hand that shows it. */
export const toneNames: readonly { name: string; hand: string }[] = [
  { name: 'No skin tone', hand: '✋' },
  { name: 'Light skin tone', hand: '✋🏻' },
  { name: 'Medium-light skin tone', hand: '✋🏼' },
  { name: 'Medium skin tone', hand: '✋🏽' },
  { name: 'Medium-dark skin tone', hand: '✋🏾' },
  { name: 'Dark skin tone', hand: '✋🏿' },
];

const toneKept = Number(kept(keys.tone));

/** The skin tone that the person chose: a number of `toneNames`. Kept by the browser. */
export const skinTone = signal(Number.isInteger(toneKept) && toneKept in toneNames ? toneKept : 0);

/** The emoji used last, the latest first. Kept by the browser. */
export const usedEmojis = signal<readonly string[]>(keptWords(keys.used).slice(0, mostUsed));

/** Notes that an emoji was used. */
export const rememberEmoji = (emoji: string): void => {
  usedEmojis.value = [emoji, ...usedEmojis.value.filter((one) => one !== emoji)].slice(0, mostUsed);
  keep(keys.used, usedEmojis.value.join(' '));
};

effect(() => keep(keys.tone, String(skinTone.value)));
