import type { IconNode } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { Icon } from './icon.tsx';

/** What every button of ours takes besides what a button takes. */
type ButtonProps = Omit<JSX.IntrinsicElements['button'], 'size' | 'class'> & {
  class?: string;
  /** `main` for what the page is about, `danger` for what cannot be undone, `quiet` for the rest. */
  look?: 'main' | 'danger' | 'plain' | 'quiet';
  busy?: boolean;
  children?: ComponentChildren;
};

/** A button with words. Never submits a form unless told so; a busy one cannot be pressed again. */
export function Button({ look = 'plain', busy = false, children, class: more = '', ...rest }: ButtonProps): JSX.Element {
  return (
    <button type="button" {...rest} class={`button ${look} ${more}`} aria-busy={busy} disabled={busy || rest.disabled}>
      {children}
    </button>
  );
}

/** A button that shows an icon only: `label` is its name for a screen reader, and its tooltip. */
export function IconButton({
  of,
  label,
  class: more = '',
  ...rest
}: Omit<ButtonProps, 'look'> & { of: IconNode; label: string }): JSX.Element {
  return (
    <button type="button" {...rest} class={`icon-button ${more}`} aria-label={label} title={label}>
      <Icon of={of} />
    </button>
  );
}
