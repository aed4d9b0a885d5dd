import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { instance, loadInstance } from '../../state/instance.ts';
import { me } from '../../state/session.ts';
import { loadOwnSignIn, needsCode, ownSignIn } from '../../state/sign-in.ts';
import { TextField, type TextProps } from '../../ui/form.tsx';
import { ProviderLink } from '../provider-link.tsx';
import { CodeField } from '../two-factor-step.tsx';

/** Whether the user has no password and did not log in a moment ago, so that the account cannot be changed before another login. */
export const needsLogin = (): boolean => ownSignIn.value?.hasPassword === false && !ownSignIn.value.isFresh;

/** Loads how the user logs in, when the component is shown. */
export function useOwnSignIn(): void {
  useEffect(() => void Promise.all([loadInstance(), loadOwnSignIn()]).catch(() => undefined), []); // the form works without it
}

/** The field for the user's password in a form that changes the account. A user without a password confirms by a login instead. */
export function OwnPasswordField(field: Pick<TextProps, 'label' | 'value' | 'onValue' | 'error'>): JSX.Element | null {
  if (ownSignIn.value?.hasPassword !== false)
    return (
      <>
        {/* Password managers need the username that belongs to the password. */}
        <input type="text" hidden autocomplete="username" value={me.value?.username ?? ''} readOnly />
        <TextField type="password" required autocomplete="current-password" {...field} />
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
export const OwnCodeField = (field: Pick<TextProps, 'value' | 'onValue' | 'error'>): JSX.Element | null =>
  needsCode.value || field.error !== undefined ? <CodeField {...field} /> : null;

/** The code as a part of a request; nothing if none was entered. */
export const toCode = (code: string): { code?: string } => (code === '' ? {} : { code });
