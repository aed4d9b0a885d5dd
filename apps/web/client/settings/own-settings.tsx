import type { JSX } from 'preact';
import { PageHeader } from '../page.tsx';

/** OwnSettings. */
export function OwnSettings(): JSX.Element {
  return (
    <main id="main" class="scroll">
      <PageHeader>
        <h1>OwnSettings</h1>
      </PageHeader>
    </main>
  );
}
