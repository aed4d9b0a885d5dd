import { signal } from '@preact/signals';

/** The looks that a person may choose; `auto` is the system's. */
export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const key = 'parlance.theme';

/** A browser that keeps nothing (a private window, blocked storage) shows the system's look. */
function kept(): Theme {
  try {
    return themes.find((one) => one === localStorage.getItem(key)) ?? 'auto';
  } catch {
    return 'auto';
  }
}

/** The chosen look, kept in this browser. */
export const theme = signal<Theme>(kept());

/** Shows the chosen look: `theme.css` reads it from the root element. */
function show(): void {
  if (theme.value === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

/** Chooses a look, on every page of this browser. */
export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  show();
  try {
    localStorage.setItem(key, chosen);
  } catch {
    // It holds until the page is closed.
  }
}

/** Shows the kept look: called before anything is drawn, and again when another tab chooses. */
export function applyTheme(): void {
  show();
  addEventListener('storage', (event) => {
    if (event.key !== key) return;
    theme.value = kept();
    show();
  });
}
