import type { JSX } from 'preact';
import { type FormState, TextField } from '../ui/form.tsx';

/** The fields for the names of a new account. */
export const NewNamesFields = ({ field }: Pick<FormState<{ username: string; displayName: string }>, 'field'>): JSX.Element => (
  <>
    <TextField
      label="Username"
      hint="2 to 32 characters: lowercase letters, numbers, _ and dots."
      required
      autocomplete="username"
      {...field('username')}
    />
    <TextField label="Display name (optional)" {...field('displayName')} />
  </>
);
