type Where = 'localStorage' | 'sessionStorage';

/** Returns what the browser stores under `key`; null when there is nothing or storage is not available, as in a private window. */
export function kept(key: string, where: Where = 'localStorage'): string | null {
  try {
    return window[where].getItem(key);
  } catch {
    return null;
  }
}

/** Stores a value in the browser. Does nothing when storage is not available, so the value is lost with the page. */
export function keep(key: string, value: string, where: Where = 'localStorage'): void {
  try {
    window[where].setItem(key, value);
  } catch {
    // Storage is not available or full.
  }
}

/** Removes a value from the browser's storage. */
export function forget(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Storage is not available.
  }
}

/** Returns a list of words that `keep` stored, joined by spaces. */
export const keptWords = (key: string, where?: Where): string[] => (kept(key, where) ?? '').split(' ').filter(Boolean);
