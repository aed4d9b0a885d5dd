import { refuse } from '../../base/errors.ts';
import type { LoginInput } from '../../contract/auth.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import type { Client } from '../access/client.ts';
import { queueHash, verifyPassword } from './passwords.ts';
import { consumeCode, hasTwoFactor } from './two-factor-codes.ts';

/**
 * Checks a person's username, password and, with two-factor authentication, code; returns the account. An unknown username, a wrong password and an account
 * without a password are refused with the same 401 after the same time. Only after a right password, refuses `two_factor_required` without a code, `two_factor_invalid` for a wrong or used
 * one, and as `consumeCode`. Otherwise refuses as `queueHash` does.
 */
export async function authenticatePerson(
  platform: Platform,
  { username, password, code }: LoginInput,
  { address }: Client,
): Promise<AccountDoc> {
  const account = await queueHash(address, async () => {
    const found = await platform.db.accounts.findOne({ username, kind: 'person' });
    return (await verifyPassword(found?.passwordHash ?? null, password)) ? found : null;
  });
  if (!account) return refuse('unauthorized', { hint: 'Wrong username or password' });
  if (!hasTwoFactor(account)) return account;
  if (code === undefined) return refuse('two_factor_required');
  return (await consumeCode(platform, account, code)) ? account : refuse('two_factor_invalid');
}
