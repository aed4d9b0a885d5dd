import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ApiError } from '../../api/call.ts';
import { instance, loadInstance } from '../../state/instance.ts';
import { me } from '../../state/session.ts';
import { loadOwnSignIn, needsCode, ownSignIn } from '../../state/sign-in.ts';
import { TextField } from '../../ui/form.tsx';
import { ProviderLink } from '../provider-link.tsx';
import { CodeField } from '../two-factor-step.tsx';

/** Whether the user has no password and did not log in a moment ago, so that the account cannot be changed before another login. */
export const needsLogin = (): boolean => ownSignIn.value?.hasPassword === false && !ownSignIn.value.isFresh;

/** Loads how the user logs in, when the component is shown. */
export function useOwnSignIn(): void {
  useEffect(() => void Promise.all([loadInstance(), loadOwnSignIn()]).catch(() => undefined), []); // the form works without it
}

/** The field for the user's password in a form that changes the account. A user without a password confirms by a login instead. */
export function OwnPasswordField({
  label,
  value,
  onValue,
  error,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
  error: string | undefined;
}): JSX.Element | null {
  if (ownSignIn.value?.hasPassword !== false)
    return (
      <>
        {/* Password managers need the username that belongs to the password. */}
        <input type="text" hidden autocomplete="username" value={me.value?.username ?? ''} readOnly />
        <TextField label={label} type="password" required autocomplete="current-password" value={value} onValue={onValue} error={error} />
      </>
    );
  if (!needsLogin()) return null;
  return (
    <p>
      Your account has no password. To change it, log in again with {instance.value?.signIn?.name ?? 'SSO'} first.{' '}
      <ProviderLink path={location.pathname}>Log in again</ProviderLink>
    </p>
  );
}

/** The field for a code in a form that changes the account, for users with two-factor authentication. */
export const OwnCodeField = ({ code, error }: { code: Signal<string>; error: ApiError | null }): JSX.Element | null =>
  needsCode.value || error?.at('/code') !== undefined ? (
    <CodeField value={code.value} onValue={(value) => (code.value = value)} error={error?.at('/code')} />
  ) : null;

/** The code as a part of a request; nothing if none was entered. */
export const toCode = (code: Signal<string>): { code?: string } => (code.value === '' ? {} : { code: code.value });
