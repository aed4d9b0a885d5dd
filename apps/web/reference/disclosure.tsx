import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';

/** A part of a page that is shown after a click on its title. It is rendered then only, because a page may have hundreds. */
export function Disclosure({ title, children }: { title: string; children: () => ComponentChildren }): JSX.Element {
  const isOpen = useSignal(false);
  return (
    <details class="ref-details" onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen.value && <div>{children()}</div>}
    </details>
  );
}
