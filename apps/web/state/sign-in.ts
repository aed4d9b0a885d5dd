import { signal } from '@preact/signals';
import type { OwnSignIn } from '../../../lib/contract/sign-in.ts';
import type { TwoFactorState } from '../../../lib/contract/two-factor.ts';
import { call } from '../api/call.ts';

/** How the logged-in user logs in; null until `loadOwnSignIn` is done. */
export const ownSignIn = signal<OwnSignIn | null>(null);

/** Whether a change of the account needs a code of two-factor authentication; false until `loadOwnSignIn` is done. */
export const needsCode = signal(false);

/** Loads `ownSignIn` and `needsCode`. Throws `ApiError`. */
export async function loadOwnSignIn(): Promise<void> {
  const [signIn, twoFactor] = await Promise.all([
    call<OwnSignIn>('GET', '/api/users/@me/sign-in'),
    call<TwoFactorState>('GET', '/api/users/@me/two-factor'),
  ]);
  ownSignIn.value = signIn;
  needsCode.value = twoFactor.enabled;
}
