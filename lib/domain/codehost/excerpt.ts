import { cut, isBlank, lengthOf, wellFormed } from '../../base/text.ts';
import { bounds } from './read.ts';

/** What is not seen, or turns the direction of what follows; a line break stays. */
const unseen = /[^\P{Cc}\n]+|[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu;

/**
 * What of a code host's Markdown is not worth its room here: comments (templates are full of them), the fences of code blocks, marks of
 * headings, where links and pictures lead. Each pattern reads a text once.
 */
const flattened: [RegExp, string][] = [
  [/<!--[^]*?(?:-->|$)/g, ''],
  [/^[ >]*(?:`{3,}|~{3,}).*$/gm, ''],
  [/!?\[([^[\]\n]{0,200})\]\([^()\s]{1,1000}\)/g, '$1'],
  [/^ {0,3}#{1,6} +/gm, ''],
];

/**
 * The beginning of a body as plain text: at most 10 lines and 400 code points, cut at a line or a word where that keeps most of it, `…`
 * where something was cut. Plain, and not turned into our formatting: half a Markdown that came out differently would say other things than
 * its author wrote. Empty lines go, so that a post stays small.
 */
export function excerptOf(body: string): string {
  const text = wellFormed(cut(body, bounds.read))
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(unseen, ' ');
  const flat = flattened.reduce((words, [pattern, kept]) => words.replace(pattern, kept), text);
  const lines = flat.split('\n').filter((line) => !isBlank(line));
  const whole = lines
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
  let kept = whole.split('\n').slice(0, bounds.bodyLines).join('\n');
  if (lengthOf(kept) >= bounds.body) {
    const fits = cut(kept, bounds.body - 1);
    const end = Math.max(fits.lastIndexOf('\n'), fits.lastIndexOf(' '));
    kept = fits.slice(0, end > fits.length / 2 ? end : fits.length).trimEnd();
  }
  return kept.length < whole.length ? `${kept}…` : kept;
}
