import type { JSX } from 'preact';
import { PageHeader } from '../page.tsx';

/** AppsPage. */
export function AppsPage(): JSX.Element {
  return (
    <main id="main" class="scroll">
      <PageHeader>
        <h1>AppsPage</h1>
      </PageHeader>
    </main>
  );
}
