import type { JSX } from 'preact';
import { TextField } from './form.tsx';

/** The field for a password that is chosen, with its rule. */
export function NewPasswordField({
  label,
  value,
  onValue,
  error,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
  error: string | undefined;
}): JSX.Element {
  return (
    <TextField
      label={label}
      hint="At least 8 characters."
      type="password"
      required
      autocomplete="new-password"
      value={value}
      onValue={onValue}
      error={error}
    />
  );
}
