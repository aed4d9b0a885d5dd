import { refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Platform } from '../../store/platform.ts';
import type { Client } from './client.ts';
import { queueHash, verifyPassword } from './passwords.ts';

/** Refuses `invalid_request` at `field`, a JSON pointer such as `/password`, because it is not the caller's password. */
export const refusePassword = (field: string): never => refuseField(field, 'This is not your current password.');

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
