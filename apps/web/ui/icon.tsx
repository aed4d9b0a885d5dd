import type { IconNode } from 'lucide';
import { h, type JSX } from 'preact';

/** An icon of the `lucide` set, by default slightly larger than the text. It is hidden from screen readers: the control that contains it has a name. */
export function Icon({ of, size = '1.25em' }: { of: IconNode; size?: string }): JSX.Element {
  return (
    <svg
      class="icon"
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      {of.map(([tag, attributes], index) => h(tag, { ...attributes, key: index }))}
    </svg>
  );
}
