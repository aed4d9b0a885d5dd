import type { IconNode } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { Icon } from './icon.tsx';

/** The props of all buttons, in addition to those of a native button. */
export type ButtonProps = Omit<JSX.IntrinsicElements['button'], 'size' | 'class'> & {
  class?: string;
  /** `main` for the main action of the page, `danger` for actions that cannot be undone, `quiet` for the rest. */
  variant?: 'main' | 'danger' | 'plain' | 'quiet';
  busy?: boolean;
  children?: ComponentChildren;
};

/** A button with text. It does not submit a form unless `type` is set; it is disabled while `busy`. */
export function Button({ variant = 'plain', busy = false, children, class: more = '', ...rest }: ButtonProps): JSX.Element {
  return (
    <button type="button" {...rest} class={`button ${variant} ${more}`} aria-busy={busy} disabled={busy || rest.disabled}>
      {children}
    </button>
  );
}

/** A button that shows only an icon. `label` is its accessible name and its tooltip. */
export function IconButton({
  of,
  label,
  class: more = '',
  ...rest
}: Omit<ButtonProps, 'variant'> & { of: IconNode; label: string }): JSX.Element {
  return (
    <button type="button" {...rest} class={`icon-button ${more}`} aria-label={label} title={label}>
      <Icon of={of} />
    </button>
  );
}
