/** Characters that begin formatting, code, a mention, an emoji or an escape in `markup-scan.ts`. A single `_`, `~` or `|`, or a `<` before a word, does not. */
const markupStarts = /[\\`*]|([_~|])\1+|<(?=@|#\d|a?:|https?:)|@(?=everyone|here)/gi;
/** The beginning of a bare link, the same as `linkStart` in `markup-scan.ts`. */
const linkStarts = /https?:\/\/(?=[^\s<>`|*~_.,:;!?'"()\]])/gi;

/**
 * Escapes `text`, so that as message content it is shown literally: no formatting, no mention, no link. Each escape adds a backslash. Other characters are not
 * escaped, because clients that do not render markup show the backslashes.
 */
export const escapeMarkup = (text: string): string =>
  text.replace(markupStarts, (run) => run.replace(/./g, '\\$&')).replace(linkStarts, '\\$&');
