import type { AccountDeletion, AccountDeletionInput } from '../../../lib/contract/account-deletion.ts';
import { call } from '../api/call.ts';
import { me } from './session.ts';

/** The address of the deletion of the user's account. */
export const deletionPath = '/api/users/@me/deletion';

/** Schedules the deletion of the user's account. Throws `ApiError`. */
export async function requestDeletion(input: AccountDeletionInput): Promise<void> {
  const deletion = await call<AccountDeletion>('POST', deletionPath, input);
  if (me.value) me.value = { ...me.value, deletion };
}

/** Cancels the deletion of the user's account. Throws `ApiError`. */
export async function keepAccount(): Promise<void> {
  await call('DELETE', deletionPath);
  if (!me.value) return;
  const { deletion: _, ...kept } = me.value;
  me.value = kept;
}
