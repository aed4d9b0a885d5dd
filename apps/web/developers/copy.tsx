import type { ComponentChildren, JSX } from 'preact';
import { CopyButton } from '../ui/copy.tsx';

/** A label and a one-line text with a button to copy it. */
export function CopyField({
  label,
  value,
  what,
  hidden = false,
  children,
}: {
  label: string;
  value: string;
  what: string;
  /** Whether the text is shown as dots; copying still copies the text. */
  hidden?: boolean;
  /** Additional buttons. */
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="copy-field">
      <span class="copy-label">{label}</span>
      <code class="copy-value">{hidden ? '•'.repeat(24) : value}</code>
      <CopyButton text={value} what={what} />
      {children}
    </div>
  );
}
