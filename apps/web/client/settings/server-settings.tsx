import type { JSX } from 'preact';
import { PageHeader } from '../page.tsx';

/** ServerSettings. */
export function ServerSettings(): JSX.Element {
  return (
    <main id="main" class="scroll">
      <PageHeader>
        <h1>ServerSettings</h1>
      </PageHeader>
    </main>
  );
}
