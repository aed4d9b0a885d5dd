import { signal } from '@preact/signals';
import { Menu } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ApiError } from '../api/call.ts';
import { IconButton } from '../ui/button.tsx';
import { ErrorNotice } from '../ui/error-notice.tsx';
import { isTemporary } from '../ui/use-retry.ts';
import { heading } from './page-title.ts';

/** Whether the lists are open on a narrow page, where they cover the content. */
export const sideOpen = signal(false);

/** The button that opens the lists on a narrow page. */
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

/** The header of a page: its heading, which is also the title of the browser tab, and the controls beside it. */
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

/** The page for an unknown path, or for something that the user cannot see. `error` is the API's error; if it is temporary, `retry` is called to retry. */
export function NotFound({ error, retry }: { error?: ApiError; retry?: () => void }): JSX.Element {
  return (
    <main id="main">
      <PageHeader>
        <h1>Page not found</h1>
      </PageHeader>
      <div class="home">
        {error ? (
          <ErrorNotice error={error} {...(retry && isTemporary(error) && { retry })} />
        ) : (
          <p>This page doesn’t exist or you don’t have access.</p>
        )}
        <a href="/">Go to home page</a>
      </div>
    </main>
  );
}
