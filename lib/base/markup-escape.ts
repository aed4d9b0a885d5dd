/** What begins formatting, code, a mention, an emoji or an escape, as `markup-scan.ts` reads it: a single bar or underline does not, nor a bracket before a word. */
const marks = /[\\`*]|([_~|])\1+|<(?=@|a?:|https?:)|@(?=everyone|here)/gi;
/** The beginning of a bare link, as `markup-scan.ts` reads it. */
const schemes = /https?:\/\/(?=[^\s<>`|*~_.,:;!?'"()\]])/gi;

/**
 * `text` as content that shows just these characters: no formatting, no mention, no link. Longer by a backslash for each mark; what begins nothing stays as it
 * is, as not every reader renders.
 */
export const escapeMarkup = (text: string): string => text.replace(marks, (run) => run.replace(/./g, '\\$&')).replace(schemes, '\\$&');
