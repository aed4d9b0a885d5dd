import type { JSX } from 'preact';
import { PageHeader } from '../page.tsx';

/** DiscoveryPage. */
export function DiscoveryPage(): JSX.Element {
  return (
    <main id="main" class="scroll">
      <PageHeader>
        <h1>DiscoveryPage</h1>
      </PageHeader>
    </main>
  );
}
