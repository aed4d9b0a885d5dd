import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { OwnSession, PasswordInput } from '../../contract/auth.ts';
import { exists } from '../../store/mongo/database.ts';
import { insertInSlot } from '../../store/mongo/insert.ts';
import type { AccountDoc, TokenDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import type { Client } from '../access/client.ts';
import { newToken, sessionLifeMs } from '../access/credentials.ts';
import { describeDevice } from './device-name.ts';
import { requireNewPassword } from './new-passwords.ts';
import { refusePassword, requireOwnFactors } from './own-password.ts';
import { hashPassword, queueHash } from './passwords.ts';

export type { Client } from '../access/client.ts';

/** How often to try to make room for a session, and to delete sessions. Concurrent logins may take the room, or open more. */
const triesMax = 20;

/** Runs `write`, which deletes sessions of an account, so that every node notices at once. */
const withSessionsEnded = <T>(platform: Platform, accountId: string, write: () => Promise<T>): Promise<T> =>
  platform.accessVersions.runChange({ accounts: [accountId], credentials: true }, write);

/** Ends the session of an account that was unused for longest. */
const endLeastRecentlyUsed = (platform: Platform, accountId: string): Promise<unknown> =>
  withSessionsEnded(platform, accountId, () =>
    platform.db.tokens.findOneAndDelete({ accountId, kind: 'session', slot: { $gte: 0 } }, { sort: { lastUsedAt: 1 } }),
  );

/**
 * How a session is opened. `isByProvider`: the OpenID Connect provider has just confirmed who the person is. `codeOf`: by a login code that the session with
 * this id made.
 */
export interface Opening {
  isByProvider?: true;
  codeOf?: string | undefined;
}

/** Whether a session of an account exists and has not expired. */
export const hasSession = ({ db, now }: Platform, accountId: string, tokenId: string): Promise<boolean> =>
  exists(db.tokens, { _id: tokenId, accountId, kind: 'session', expiresAt: { $gt: new Date(now()) } });

/**
 * Creates a session of a person and returns its token, which is valid for 90 days. A person has at most 50 sessions: a new one ends the one that was unused for
 * longest. Refuses `unauthorized` when the password was changed since `account` was read or the session of `codeOf` has ended, `two_factor_required` when
 * two-factor authentication was turned on since, and `account_suspended`, because all of them end sessions. They are checked after the new session is
 * stored: who ends sessions after the check finds it (`deleteSessions`).
 */
export async function createSession(
  platform: Platform,
  account: AccountDoc,
  { address, userAgent }: Client,
  { isByProvider, codeOf }: Opening = {},
): Promise<string> {
  const { tokens, accounts } = platform.db;
  const createdAt = new Date(platform.now());
  const scope = { accountId: account._id };
  const _id = platform.ids.next();
  const { token, hash } = newToken(_id);
  const fresh = {
    _id,
    ...scope,
    kind: 'session' as const,
    hash,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + sessionLifeMs),
    lastUsedAt: createdAt,
    address,
    device: describeDevice(userAgent),
    ...(isByProvider ? { isByProvider } : {}),
  };
  for (let tries = 1; (await insertInSlot<TokenDoc>(tokens, scope, limits.loginSessionsPerPerson, fresh)).outcome === 'full'; tries++) {
    if (tries === triesMax) refuse('unavailable');
    await endLeastRecentlyUsed(platform, account._id);
  }
  const [now, hasOpener] = await Promise.all([
    accounts.findOne({ _id: account._id }, { projection: { passwordHash: 1, suspendedAt: 1, 'twoFactor.enabledAt': 1 } }),
    codeOf === undefined || hasSession(platform, account._id, codeOf),
  ]);
  const isFactorNew = now?.twoFactor !== undefined && now.twoFactor.enabledAt.getTime() !== account.twoFactor?.enabledAt.getTime();
  if (now?.passwordHash === account.passwordHash && now.suspendedAt === undefined && !isFactorNew && hasOpener) return token;
  await withSessionsEnded(platform, account._id, () => tokens.deleteOne({ _id }));
  if (now?.suspendedAt !== undefined) refuse('account_suspended');
  if (isFactorNew) refuse('two_factor_required');
  const hint = hasOpener ? 'The password was changed a moment ago. Use the new password' : 'The login that made this link has ended';
  return refuse('unauthorized', { hint });
}

/** Records the use of a session, at most every five minutes. Does not wait for the write and never fails. */
export function recordSessionUse(platform: Platform, token: TokenDoc, address: string): void {
  const now = platform.now();
  const before = new Date(now - limits.sessionUseIntervalMs);
  if (token.kind !== 'session' || (token.lastUsedAt ?? token.createdAt) > before) return;
  token.lastUsedAt = new Date(now); // the cached document, so that the next request does not write again
  const stale = { _id: token._id, $or: [{ lastUsedAt: { $lte: before } }, { lastUsedAt: { $exists: false } }] };
  platform.db.tokens
    .updateOne(stale, { $set: { lastUsedAt: token.lastUsedAt, address } })

    .catch((error: unknown) => platform.log.debug({ err: error }, 'could not record when a session was last used'));
}

/** The caller's sessions that have not ended, last used first. `tokenId` is the session of this request. */
export async function listSessions(platform: Platform, actor: Pick<Actor, 'id'>, tokenId: string | null): Promise<OwnSession[]> {
  const found = await platform.db.tokens
    .find({ accountId: actor.id, kind: 'session', expiresAt: { $gt: new Date(platform.now()) } }, { hint: 'accountId_1' })
    .sort({ lastUsedAt: -1, _id: -1 })
    .limit(limits.loginSessionsPerPerson)
    .toArray();
  return found.map(({ _id, createdAt, lastUsedAt = createdAt, device = 'Unknown device', address = null }) => ({
    id: _id,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt.toISOString(),
    device,
    address,
    current: _id === tokenId,
  }));
}

/** Ends one of the caller's sessions with its login codes, on every node at once; false when the caller has no such session. */
export async function endSession(platform: Platform, actor: Actor, tokenId: string): Promise<boolean> {
  const one = { _id: tokenId, accountId: actor.id, kind: 'session' as const };
  const { deletedCount } = await withSessionsEnded(platform, actor.id, () => platform.db.tokens.deleteOne(one));
  await platform.db.loginCodes.deleteMany({ accountId: actor.id, sessionId: tokenId });
  return deletedCount > 0;
}

/**
 * Deletes the sessions of an account but that of `tokenId`, and its login codes. A code used at this moment may insert its session after `deleteMany` has passed
 * its place. `createSession` then checks that the opener still exists, so the next pass finds the new session. Passes repeat until one deletes nothing. Call it
 * in a change of access versions.
 */
export async function deleteSessions({ db }: Platform, accountId: string, tokenId: string | null): Promise<void> {
  const others = { accountId, kind: 'session' as const, ...(tokenId !== null && { _id: { $ne: tokenId } }) };
  for (let tries = 1; (await db.tokens.deleteMany(others)).deletedCount > 0; tries++) if (tries === triesMax) refuse('unavailable');
  await db.loginCodes.deleteMany({ accountId });
}

/** Ends all sessions of a person, on every node at once, and deletes the person's login codes. */
export const endAllSessions = (platform: Platform, accountId: string): Promise<void> =>
  withSessionsEnded(platform, accountId, () => deleteSessions(platform, accountId, null));

/** Ends all of the caller's sessions but the one of `tokenId`, on every node at once, and deletes the caller's login codes. */
export const endOtherSessions = (platform: Platform, actor: Actor, tokenId: string | null): Promise<void> =>
  withSessionsEnded(platform, actor.id, () => deleteSessions(platform, actor.id, tokenId));

/**
 * Changes the caller's password, or sets the first one, and ends all other sessions, on every node at once. Refuses as `requireNewPassword`,
 * `requireOwnFactors` and `queueHash`.
 */
export async function changePassword(
  platform: Platform,
  actor: Actor,
  { currentPassword, newPassword, code }: PasswordInput,
  client: Client,
): Promise<void> {
  requireNewPassword(newPassword, actor.account.username, '/newPassword');
  const before = await requireOwnFactors(platform, actor.id, { password: currentPassword, code }, client, '/currentPassword');
  const after = await queueHash(client.address, () => hashPassword(newPassword));
  await withSessionsEnded(platform, actor.id, async () => {
    const { matchedCount } = await platform.db.accounts.updateOne({ _id: actor.id, ...before }, { $set: { passwordHash: after } });
    if (matchedCount === 0) refusePassword('/currentPassword');
    await platform.db.passwordResets.deleteMany({ accountId: actor.id });
    await deleteSessions(platform, actor.id, client.tokenId);
  });
}
