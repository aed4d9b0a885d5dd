import { signal } from '@preact/signals';
import { keep, keptWords } from '../../ui/kept.ts';

const key = 'parlance.folded';
/** The maximum number of collapsed categories that are stored; the oldest are dropped. */
const most = 200;

/** The ids of the categories that the user collapsed, stored in this browser. */
export const foldedCategories = signal<readonly string[]>(keptWords(key).slice(-most));

/** Collapses or expands a category. */
export function fold(id: string, folded: boolean): void {
  const others = foldedCategories.value.filter((one) => one !== id);
  if (folded === foldedCategories.value.includes(id)) return;
  foldedCategories.value = (folded ? [...others, id] : others).slice(-most);
  keep(key, foldedCategories.value.join(' '));
}
