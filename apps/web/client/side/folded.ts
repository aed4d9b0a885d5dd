import { signal } from '@preact/signals';

const key = 'parlance.folded';
/** Categories whose folding is remembered at most: the oldest are forgotten. */
const most = 200;

function stored(): string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string').slice(-most) : [];
  } catch {
    // Storage that is closed to us, or holds something else: nothing is folded.
    return [];
  }
}

/** The categories that the person folded, by id: remembered in this browser. */
export const foldedCategories = signal<readonly string[]>(stored());

/** Folds a category, or unfolds it. */
export function fold(id: string, folded: boolean): void {
  const others = foldedCategories.value.filter((one) => one !== id);
  if (folded === foldedCategories.value.includes(id)) return;
  foldedCategories.value = (folded ? [...others, id] : others).slice(-most);
  try {
    localStorage.setItem(key, JSON.stringify(foldedCategories.value));
  } catch {
    // Then it is remembered until the page is left.
  }
}
