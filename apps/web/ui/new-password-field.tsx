import type { JSX } from 'preact';
import { TextField, type TextProps } from './form.tsx';

/** The field for a password that is chosen, with its rule. */
export const NewPasswordField = (props: Pick<TextProps, 'label' | 'value' | 'onValue' | 'error'>): JSX.Element => (
  <TextField hint="At least 8 characters." type="password" required autocomplete="new-password" {...props} />
);
