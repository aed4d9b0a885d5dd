import { useSignal } from '@preact/signals';
import { Menu, Moon, Sun, X } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { IconButton } from '../ui/button.tsx';
import { chooseTheme, theme } from '../ui/theme.ts';
import { Toasts } from '../ui/toast.tsx';
import { place } from './location.ts';
import { Navigation } from './navigation.tsx';

/** A button that switches between the light and the dark theme, starting from the one that is shown. */
function ThemeButton(): JSX.Element {
  const isDark = theme.value === 'dark' || (theme.value === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  return (
    <IconButton
      of={isDark ? Sun : Moon}
      label={isDark ? 'Use the light theme' : 'Use the dark theme'}
      onClick={() => chooseTheme(isDark ? 'light' : 'dark')}
    />
  );
}

/** The layout of every page: the header, the navigation at the left (on a phone behind a button), and the page. `search` is the search field. */
export function Frame({ search, children }: { search: ComponentChildren; children: ComponentChildren }): JSX.Element {
  const isOpen = useSignal(false);
  const { path } = place.value;
  useEffect(() => {
    isOpen.value = false;
  }, [place.value]);
  return (
    <>
      <a class="skip-link" href="#page" onClick={() => document.getElementById('page')?.focus()}>
        Skip to content
      </a>
      <header class="ref-header">
        <span class="ref-menu">
          <IconButton
            of={isOpen.value ? X : Menu}
            label="Navigation"
            aria-expanded={isOpen.value}
            aria-controls="navigation"
            onClick={() => (isOpen.value = !isOpen.value)}
          />
        </span>
        <a class="ref-brand" href="/developers">
          Parlance <span class="soft">for developers</span>
        </a>
        {search}
        <nav class="ref-sites" aria-label="Developers">
          <a href="/developers/reference" aria-current={path.startsWith('/developers/reference') ? 'true' : undefined}>
            Reference
          </a>
          <a href="/developers/guides" aria-current={path.startsWith('/developers/guides') ? 'true' : undefined}>
            Guides
          </a>
          <a href="/developers">My applications</a>
        </nav>
        <ThemeButton />
      </header>
      <div class="ref-frame">
        <nav id="navigation" class={`ref-nav ${isOpen.value ? 'open' : ''}`} aria-label="Pages">
          <Navigation />
        </nav>
        <main id="page" class="ref-main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Toasts />
    </>
  );
}
