type Where = 'localStorage' | 'sessionStorage';

/** What this browser keeps for the page under `key`; null where it keeps nothing, as in a private window. */
export function kept(key: string, where: Where = 'localStorage'): string | null {
  try {
    return window[where].getItem(key);
  } catch {
    return null;
  }
}

/** Has this browser keep a value; where it keeps nothing, it is forgotten with the page. */
export function keep(key: string, value: string, where: Where = 'localStorage'): void {
  try {
    window[where].setItem(key, value);
  } catch {
    // As said.
  }
}

/** Has this browser no longer keep a value. */
export function forget(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // It keeps nothing.
  }
}

/** A list of words without spaces that was kept by `keep`, joined by them. */
export const keptWords = (key: string, where?: Where): string[] => (kept(key, where) ?? '').split(' ').filter(Boolean);
