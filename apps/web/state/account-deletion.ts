import { signal } from '@preact/signals';
import type { AccountDeletion, AccountDeletionInput, OwnDeletion } from '../../../lib/contract/account-deletion.ts';
import { call } from '../api/call.ts';

const url = '/api/users/@me/deletion';

/** The scheduled deletion of the user's account, and the grace period; null until it is loaded. */
export const ownDeletion = signal<OwnDeletion | null>(null);

/** Loads `ownDeletion`. Throws `ApiError`. */
export async function loadOwnDeletion(stopped?: AbortSignal): Promise<OwnDeletion> {
  ownDeletion.value = await call<OwnDeletion>('GET', url, undefined, stopped ? { signal: stopped } : {});
  return ownDeletion.value;
}

/** Schedules the deletion of the user's account. Throws `ApiError`. */
export async function requestDeletion(input: AccountDeletionInput, graceDays: number): Promise<void> {
  ownDeletion.value = { deletion: await call<AccountDeletion>('POST', url, input), graceDays };
}

/** Cancels the deletion of the user's account. Throws `ApiError`. */
export async function keepAccount(): Promise<void> {
  await call('DELETE', url);
  if (ownDeletion.value) ownDeletion.value = { ...ownDeletion.value, deletion: null };
}
