import { signal } from '@preact/signals';
import { keep, kept } from './kept.ts';

/** The looks that a person may choose; `auto` is the system's. */
export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const key = 'parlance.theme';
const keptTheme = (): Theme => themes.find((one) => one === kept(key)) ?? 'auto';

/** The chosen look, kept in this browser; one that keeps nothing shows the system's. */
export const theme = signal<Theme>(keptTheme());

/** Shows the chosen look: `theme.css` reads it from the root element. */
function show(): void {
  if (theme.value === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

/** Chooses a look, on every page of this browser. */
export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  show();
  keep(key, chosen);
}

/** Shows the kept look: called before anything is drawn, and again when another tab chooses. */
export function applyTheme(): void {
  show();
  addEventListener('storage', (event) => {
    if (event.key !== key) return;
    theme.value = keptTheme();
    show();
  });
}
