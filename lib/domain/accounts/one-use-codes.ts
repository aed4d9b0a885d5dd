import { refuse } from '../../base/errors.ts';
import type { UserSummary } from '../../contract/user.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { sha256 } from '../../store/seal.ts';
import { toUserSummary } from '../views/accounts.ts';

/** The filter for a code that still works. Of each code only the hash is stored, as `_id`. */
export const validCodeFilter = (platform: Platform, code: string) => ({
  _id: sha256(code),
  expiresAt: { $gt: new Date(platform.now()) },
});

/** The person of a code that was found. Refuses with 401 and `hint`, which is the same for an unknown, a used and an expired code. */
export const requireCodeOwner = async ({ db }: Platform, found: { accountId: string } | null, hint: string): Promise<AccountDoc> =>
  (found && (await db.accounts.findOne({ _id: found.accountId, kind: 'person' }))) || refuse('unauthorized', { hint });

/** Returns whose code was found and until when it works. Refuses as `requireCodeOwner` does. */
export async function previewCode(
  platform: Platform,
  found: { accountId: string; expiresAt: Date } | null,
  hint: string,
): Promise<{ user: UserSummary; expiresAt: string }> {
  const account = await requireCodeOwner(platform, found, hint);
  return { user: toUserSummary(account), expiresAt: (found?.expiresAt ?? new Date(platform.now())).toISOString() };
}
