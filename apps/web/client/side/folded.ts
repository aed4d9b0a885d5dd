import { signal } from '@preact/signals';
import { keep, keptWords } from '../../ui/kept.ts';

const key = 'parlance.folded';
/** Categories whose folding is remembered at most: the oldest are forgotten. */
const most = 200;

/** The categories that the person folded, by id: remembered in this browser. */
export const foldedCategories = signal<readonly string[]>(keptWords(key).slice(-most));

/** Folds a category, or unfolds it. */
export function fold(id: string, folded: boolean): void {
  const others = foldedCategories.value.filter((one) => one !== id);
  if (folded === foldedCategories.value.includes(id)) return;
  foldedCategories.value = (folded ? [...others, id] : others).slice(-most);
  keep(key, foldedCategories.value.join(' '));
}
