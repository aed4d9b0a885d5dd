import { cut, lengthOf } from './text.ts';

/** How long a file's name may be, in code points; and how much of its end counts as its extension. */
const nameChars = 255;
const extensionChars = 20;

/** Controls, what reverses or hides the direction of writing, and halves of surrogate pairs: a name with them shows as another one, or breaks an address. */
const unseen = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** Splits a name before its last dot; what begins with its only dot has no extension. */
function parts(name: string): [base: string, extension: string] {
  const dot = name.lastIndexOf('.');
  return dot > 0 && lengthOf(name.slice(dot)) <= extensionChars ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
}

const fitted = (base: string, extension: string): string => cut(base, nameChars - lengthOf(extension)) + extension;

/**
 * The name that a file is kept under: the last part of a path, without controls and marks that change the direction of writing, at most 255 code points with
 * its extension kept; `file` when nothing is left.
 */
export function cleanFilename(given: string | undefined): string {
  const last = (given ?? '').split(/[/\\]/).at(-1) ?? '';
  const name = last.replace(unseen, '').trim();
  return /^\.*$/.test(name) ? 'file' : fitted(...parts(name));
}

/** The name of an image after its conversion: its base with `.webp` (docs/behavior/messages.md#images). */
export const webpFilename = (name: string): string => fitted(parts(name)[0], '.webp');
