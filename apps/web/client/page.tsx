import { signal } from '@preact/signals';
import { Menu } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { IconButton } from '../ui/button.tsx';

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

/** A page's header: its name, and what stands beside it. */
export function PageHeader({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <header class="page-header">
      <SideButton />
      {children}
    </header>
  );
}

/** A path that leads nowhere, or to what the person may not know of. */
export function NotFound(): JSX.Element {
  return (
    <main id="main" class="empty">
      <PageHeader>
        <h1>Not here</h1>
      </PageHeader>
      <p>This page does not exist, or you cannot see it.</p>
      <a href="/">To the start</a>
    </main>
  );
}
