import { countCodePoints, isBlank, toWellFormed, truncate } from '../../../base/text.ts';
import { bounds } from './payload.ts';

/** Invisible characters and those that change the text direction, except line breaks. */
const invisible = /[^\P{Cc}\n]+|[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu;

/**
 * The parts of a code host's Markdown that are left out: HTML comments (common in templates), fences of code blocks, heading marks, and the targets of links
 * and images. Each pattern reads a text once.
 */
const markdownRules: [RegExp, string][] = [
  [/<!--[^]*?(?:-->|$)/g, ''],
  [/^[ >]*(?:`{3,}|~{3,}).*$/gm, ''],
  [/!?\[([^[\]\n]{0,200})\]\([^()\s]{1,1000}\)/g, '$1'],
  [/^ {0,3}#{1,6} +/gm, ''],
];

/**
 * The beginning of a body as plain text: at most 10 lines and 400 code points. It is cut at the end of a line or a word if that keeps more than half of it, and
 * `…` marks the cut. Markdown is not converted to our markup, because a partial conversion could change its meaning. Empty lines are removed to keep a post
 * small.
 */
export function toExcerpt(body: string): string {
  const text = toWellFormed(truncate(body, bounds.read))
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(invisible, ' ');
  const flat = markdownRules.reduce((words, [pattern, kept]) => words.replace(pattern, kept), text);
  const lines = flat.split('\n').filter((line) => !isBlank(line));
  const whole = lines
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
  let kept = whole.split('\n').slice(0, bounds.bodyLines).join('\n');
  if (countCodePoints(kept) >= bounds.body) {
    const fits = truncate(kept, bounds.body - 1);
    const end = Math.max(fits.lastIndexOf('\n'), fits.lastIndexOf(' '));
    kept = fits.slice(0, end > fits.length / 2 ? end : fits.length).trimEnd();
  }
  return kept.length < whole.length ? `${kept}…` : kept;
}
