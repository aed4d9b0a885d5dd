import { signal } from '@preact/signals';
import { readStored, writeStored } from './browser-storage.ts';

/** The themes that the user can choose; `auto` follows the system. */
export const themes = ['auto', 'light', 'dark'] as const;
/** One of `themes`. */
export type Theme = (typeof themes)[number];

const key = 'parlance.theme';
const storedTheme = (): Theme => themes.find((one) => one === readStored(key)) ?? 'auto';

/** The chosen theme, stored in this browser. Without a stored value it follows the system. */
export const theme = signal<Theme>(storedTheme());

/** Applies the chosen theme: `theme.css` reads it from the root element. */
function applyToPage(): void {
  if (theme.value === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

/** Sets the theme on every page of this browser. */
export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  applyToPage();
  writeStored(key, chosen);
}

/** Applies the stored theme. Called before the page is rendered; it also applies changes made in other tabs. */
export function applyTheme(): void {
  applyToPage();
  addEventListener('storage', (event) => {
    if (event.key !== key) return;
    theme.value = storedTheme();
    applyToPage();
  });
}
