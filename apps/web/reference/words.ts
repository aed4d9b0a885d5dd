/** An identifier in camelCase, PascalCase, kebab-case or snake_case as words: `createMessage` → `Create message`. */
export function toTitle(identifier: string): string {
  const words = identifier
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[-_.]+/g, ' ')
    .toLowerCase()
    .replace(/\b(?:id|url|api|dm|dms|json|sso|oidc)\b/g, (word) => (word === 'dms' ? 'DMs' : word.toUpperCase()));
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The words of a list: `a, b or c`. */
export function joinWords(words: readonly string[], last = 'or'): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}

const numbers = new Intl.NumberFormat('en');
/** A number with separators for thousands. */
export const formatNumber = (value: number): string => numbers.format(value);
