/** What begins formatting, code, a mention, an emoji or an escape. */
const marks = /[\\`*_~|<@]/g;
/** The beginning of a bare link, as `markup-scan.ts` reads it. */
const schemes = /https?:\/\/(?=[^\s<>`|*~_.,:;!?'"()\]])/gi;

/** `text` as content that shows just these characters: no formatting, no mention, no link. Longer by a backslash for each mark. */
export const escapeMarkup = (text: string): string => text.replace(marks, '\\$&').replace(schemes, '\\$&');
