import { signal } from '@preact/signals';
import { Menu } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ApiError } from '../api/call.ts';
import { IconButton } from '../ui/button.tsx';
import { Problem } from '../ui/problem.tsx';
import { isPassing } from '../ui/use-retry.ts';
import { heading } from './page-title.ts';

/** Whether the lists at the side are shown on a narrow page, where they lie over the rest. */
export const sideOpen = signal(false);

/** Opens the lists on a narrow page. */
function SideButton(): JSX.Element {
  return (
    <span class="side-button">
      <IconButton
        of={Menu}
        label="Servers and channels"
        aria-expanded={sideOpen.value}
        onClick={() => (sideOpen.value = !sideOpen.value)}
      />
    </span>
  );
}

/** A page's header: its name, which is also the title of the browser's tab, and what stands beside it. */
export function PageHeader({ children }: { children: ComponentChildren }): JSX.Element {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    heading.value = ref.current?.querySelector('h1')?.textContent ?? '';
  });
  return (
    <header class="page-header" ref={ref}>
      <SideButton />
      {children}
    </header>
  );
}

/** A path that leads nowhere, or to what the person may not know of; `error` says it in the service's words; one that passes is read `again`. */
export function NotFound({ error, again }: { error?: ApiError; again?: () => void }): JSX.Element {
  return (
    <main id="main">
      <PageHeader>
        <h1>Page not found</h1>
      </PageHeader>
      <div class="home">
        {error ? (
          <Problem error={error} {...(again && isPassing(error) && { again })} />
        ) : (
          <p>This page doesn’t exist or you don’t have access.</p>
        )}
        <a href="/">Go to the start page</a>
      </div>
    </main>
  );
}
