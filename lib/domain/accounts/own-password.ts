import { refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Platform } from '../../store/platform.ts';
import type { Client } from '../access/client.ts';
import { queueHash, verifyPassword } from './passwords.ts';
import { consumeCode, hasTwoFactor } from './two-factor-codes.ts';

/** Refuses `invalid_request` at `field`, a JSON pointer such as `/password`, because it is not the caller's password. */
export const refusePassword = (field: string): never => refuseField(field, 'This is not your current password.');

/** Refuses `invalid_request` at `/code`, because it is no code that still works. */
export const refuseCode = (): never => refuseField('/code', 'This code is wrong or was already used.');

/** What a person gives to change the own account: the password, and a code with two-factor authentication. */
interface OwnFactors {
  password: string | undefined;
  code: string | undefined;
}

/** The part of a filter that matches an account only while its password and two-factor authentication are those that were checked. */
export interface CheckedFactors {
  passwordHash: string | null;
  'twoFactor.enabledAt': Date | null;
}

/**
 * Whether the session of a request was opened a moment ago by the OpenID Connect provider. A session of a login code does not count, because whoever has a
 * session can make one.
 */
export const isFreshSignIn = async ({ db, now }: Platform, accountId: string, { tokenId }: Client): Promise<boolean> => {
  const token = tokenId === null ? null : await db.tokens.findOne({ _id: tokenId, accountId });
  return token?.isByProvider === true && token.createdAt.getTime() > now() - limits.freshSignInMs;
};

/**
 * Checks that a request that changes an account comes from its owner: `password` must be its password. An account without a password needs a session that the
 * OpenID Connect provider opened within the last ten minutes instead, and `password` is ignored. Returns the hash that it matched; null without a password.
 * Refuses `invalid_request` at `field`, and as `queueHash` does. The route counts the call as a login attempt.
 */
export const requireOwnPassword = (
  platform: Platform,
  accountId: string,
  password: string | undefined,
  client: Client,
  field: string,
): Promise<string | null> =>
  queueHash(client.address, async () => {
    const stored = (await platform.db.accounts.findOne({ _id: accountId }, { projection: { passwordHash: 1 } }))?.passwordHash ?? null;
    if (stored !== null) return (await verifyPassword(stored, password ?? '')) ? stored : refusePassword(field);
    if (await isFreshSignIn(platform, accountId, client)) return null;
    return refuseField(field, 'Your account has no password. Log out, log in again, and repeat this within 10 minutes.');
  });

/**
 * Checks that a request comes from the owner of the account, as a login does: by `requireOwnPassword`, and with two-factor authentication by a code of the app or
 * a recovery code, which is used up. Refuses as `requireOwnPassword`, `invalid_request` at `/code`, and as `consumeCode`.
 */
export async function requireOwnFactors(
  platform: Platform,
  accountId: string,
  { password, code }: OwnFactors,
  client: Client,
  field: string,
): Promise<CheckedFactors> {
  const passwordHash = await requireOwnPassword(platform, accountId, password, client, field);
  const account = await platform.db.accounts.findOne({ _id: accountId });
  if (account === null || !hasTwoFactor(account)) return { passwordHash, 'twoFactor.enabledAt': null };
  if (code === undefined) return refuseField('/code', 'Enter a code of your authenticator app, or a recovery code.');
  if (!(await consumeCode(platform, account, code))) refuseCode();
  return { passwordHash, 'twoFactor.enabledAt': account.twoFactor.enabledAt };
}
