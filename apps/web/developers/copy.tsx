import type { ComponentChildren, JSX } from 'preact';
import { CopyButton } from '../ui/copy.tsx';

/** A text of one line that is there to be copied, with its name. */
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
  /** Whether dots are shown instead; copying still copies the text. */
  hidden?: boolean;
  /** More buttons. */
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
