import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { endAllSessions } from './sessions.ts';

/** A person's account; refuses an unknown id with 404, and bots and the platform's own account with 400. */
export async function requirePersonAccount({ db }: Platform, id: string): Promise<AccountDoc> {
  const account = await db.accounts.findOne({ _id: id });
  if (!account) return refuse('not_found', { what: 'account' });
  return account.kind === 'person' ? account : refuse('invalid_request', { reason: 'this account is not a person’s' });
}

/** Bumps the access versions of a person's bots, so that every node checks their tokens and sockets again. */
async function recheckBots({ db, accessVersions }: Platform, ownerId: string): Promise<void> {
  const owned = await db.applications
    .find({ ownerId }, { projection: { botId: 1 } })
    .sort({ slot: 1 })
    .limit(limits.applicationsPerPerson)
    .toArray();
  if (owned.length > 0)
    await accessVersions.runChange({ accounts: owned.map(({ botId }) => botId), credentials: true }, () => Promise.resolve());
}

/**
 * Suspends a person (docs/behavior/accounts.md#suspension): ends all sessions and refuses new ones, and refuses the tokens of the person's bots. The mark is
 * stored before sessions are deleted, and a login checks it after it stored its session, so no session survives. A repeated call completes an earlier one.
 */
export async function suspendAccount(
  platform: Platform,
  id: string,
  reason: string | undefined,
): Promise<{ account: AccountDoc; isChanged: boolean }> {
  const account = await requirePersonAccount(platform, id);
  const set = { suspendedAt: new Date(platform.now()), ...(reason === undefined ? {} : { suspendedReason: reason }) };
  const marked = await platform.db.accounts.updateOne({ _id: id, suspendedAt: { $exists: false } }, { $set: set });
  await endAllSessions(platform, id);
  await recheckBots(platform, id);
  return { account, isChanged: marked.modifiedCount > 0 };
}

/** Ends a person's suspension. The person can log in again, and the tokens of the person's bots work again. */
export async function restoreAccount(platform: Platform, id: string): Promise<{ account: AccountDoc; isChanged: boolean }> {
  const account = await requirePersonAccount(platform, id);
  const { modifiedCount } = await platform.accessVersions.runChange({ accounts: [id] }, () =>
    platform.db.accounts.updateOne({ _id: id, suspendedAt: { $exists: true } }, { $unset: { suspendedAt: 1, suspendedReason: 1 } }),
  );
  await recheckBots(platform, id);
  return { account, isChanged: modifiedCount > 0 };
}
