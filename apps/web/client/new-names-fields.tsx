import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ApiError } from '../api/call.ts';
import { TextField } from '../ui/form.tsx';

/** The fields for the names of a new account. `error` is that of the request. */
export function NewNamesFields({
  username,
  displayName,
  error,
}: {
  username: Signal<string>;
  displayName: Signal<string>;
  error: ApiError | null;
}): JSX.Element {
  return (
    <>
      <TextField
        label="Username"
        hint="2 to 32 characters: lowercase letters, numbers, _ and dots."
        required
        autocomplete="username"
        value={username.value}
        onValue={(value) => (username.value = value)}
        error={error?.at('/username')}
      />
      <TextField
        label="Display name (optional)"
        value={displayName.value}
        onValue={(value) => (displayName.value = value)}
        error={error?.at('/displayName')}
      />
    </>
  );
}
