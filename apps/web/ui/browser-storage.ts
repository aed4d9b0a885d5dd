type StorageName = 'localStorage' | 'sessionStorage';

/** Returns what the browser stores under `key`; null when there is nothing or storage is not available, as in a private window. */
export function readStored(key: string, storage: StorageName = 'localStorage'): string | null {
  try {
    return window[storage].getItem(key);
  } catch {
    return null;
  }
}

/** Stores a value in the browser. Does nothing when storage is not available, so the value is lost with the page. */
export function writeStored(key: string, value: string, storage: StorageName = 'localStorage'): void {
  try {
    window[storage].setItem(key, value);
  } catch {
    // Storage is not available or full.
  }
}

/** Removes a value from the browser's storage. */
export function removeStored(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Storage is not available.
  }
}

/** Returns a list of words that `writeStored` stored, joined by spaces. */
export const readStoredWords = (key: string, storage?: StorageName): string[] =>
  (readStored(key, storage) ?? '').split(' ').filter(Boolean);
