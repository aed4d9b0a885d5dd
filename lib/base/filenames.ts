import { countCodePoints, truncate } from './text.ts';

/** The longest file name, and the longest extension with its dot, in code points. */
const nameChars = 255;
const extensionChars = 20;

/** Control characters, marks that change the direction of writing, and halves of surrogate pairs. They make a name look like another one, or break a URL. */
const hiddenCharacters = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** Splits a name before its last dot. A name whose only dot is its first character has no extension. */
function splitExtension(name: string): [base: string, extension: string] {
  const dot = name.lastIndexOf('.');
  return dot > 0 && countCodePoints(name.slice(dot)) <= extensionChars ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
}

const joinWithinLimit = (base: string, extension: string): string => truncate(base, nameChars - countCodePoints(extension)) + extension;

/**
 * The name under which a file is stored: the last part of the given path, without control characters and marks that change the direction of writing. It is cut
 * to 255 code points and keeps its extension. If nothing is left, the name is `file`.
 */
export function cleanFilename(given: string | undefined): string {
  const last = (given ?? '').split(/[/\\]/).at(-1) ?? '';
  const name = last.replace(hiddenCharacters, '').trim();
  return /^\.*$/.test(name) ? 'file' : joinWithinLimit(...splitExtension(name));
}

/** The name of a converted image: its extension is replaced with `.webp` (docs/behavior/messages.md#images). */
export const webpFilename = (name: string): string => joinWithinLimit(splitExtension(name)[0], '.webp');
