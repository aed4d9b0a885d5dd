import { signal } from '@preact/signals';
import type { OwnSignIn } from '../../../lib/contract/sign-in.ts';
import { call } from '../api/call.ts';

/** How the logged-in user logs in; null until `loadOwnSignIn` is done. */
export const ownSignIn = signal<OwnSignIn | null>(null);

/** Loads `ownSignIn`. Throws `ApiError`. */
export async function loadOwnSignIn(): Promise<void> {
  ownSignIn.value = await call<OwnSignIn>('GET', '/api/users/@me/sign-in');
}
