import { refuseField } from '../../base/errors.ts';
import type { Platform } from '../../store/platform.ts';
import { queueHash, verifyPassword } from './passwords.ts';

/** Refuses `invalid_request` at `field`, a JSON pointer such as `/password`, because it is not the caller's password. */
export const refusePassword = (field: string): never => refuseField(field, 'This is not your current password.');

/**
 * Checks that a request that changes an account comes from its owner: `password` must be its password. Returns the hash that it matched. Refuses as
 * `refusePassword` and `queueHash` do. The route counts the call as a login attempt.
 */
export const requireOwnPassword = (
  { db }: Platform,
  accountId: string,
  password: string,
  { address }: { address: string },
  field: string,
): Promise<string | null> =>
  queueHash(address, async () => {
    const stored = (await db.accounts.findOne({ _id: accountId }, { projection: { passwordHash: 1 } }))?.passwordHash ?? null;
    return (await verifyPassword(stored, password)) ? stored : refusePassword(field);
  });
