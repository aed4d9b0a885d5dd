import { signal } from '@preact/signals';
import { readStoredWords, writeStored } from '../../ui/browser-storage.ts';

const key = 'parlance.folded';
/** The maximum number of collapsed categories that are stored; the oldest are dropped. */
const maxStored = 200;

/** The ids of the categories that the user collapsed, stored in this browser. */
export const collapsedCategories = signal<readonly string[]>(readStoredWords(key).slice(-maxStored));

/** Collapses or expands a category. */
export function setCollapsed(id: string, isCollapsed: boolean): void {
  const others = collapsedCategories.value.filter((one) => one !== id);
  if (isCollapsed === collapsedCategories.value.includes(id)) return;
  collapsedCategories.value = (isCollapsed ? [...others, id] : others).slice(-maxStored);
  writeStored(key, collapsedCategories.value.join(' '));
}
