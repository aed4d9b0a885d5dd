import { signal } from '@preact/signals';
import { keep, kept } from './kept.ts';

/** The themes that the user can choose; `auto` follows the system. */
export const themes = ['auto', 'light', 'dark'] as const;
/** One of `themes`. */
export type Theme = (typeof themes)[number];

const key = 'parlance.theme';
const keptTheme = (): Theme => themes.find((one) => one === kept(key)) ?? 'auto';

/** The chosen theme, stored in this browser. Without a stored value it follows the system. */
export const theme = signal<Theme>(keptTheme());

/** Applies the chosen theme: `theme.css` reads it from the root element. */
function show(): void {
  if (theme.value === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

/** Sets the theme on every page of this browser. */
export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  show();
  keep(key, chosen);
}

/** Applies the stored theme. Called before the page is rendered; it also applies changes made in other tabs. */
export function applyTheme(): void {
  show();
  addEventListener('storage', (event) => {
    if (event.key !== key) return;
    theme.value = keptTheme();
    show();
  });
}
