import { refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { LoginCode, Session } from '../contract/user.ts';
import { trusted } from '../store/database.ts';
import { insertInSlot } from '../store/insert.ts';
import type { Platform } from '../store/platform.ts';
import { newSecret, sha256 } from '../store/seal.ts';
import type { Actor } from './access.ts';
import { openSession } from './accounts.ts';
import type { Client } from './sessions.ts';

/** Makes a code that logs the caller in once, within 15 minutes; only its hash is stored. Of a person's codes the latest five count: the oldest gives way. */
export async function makeLoginCode(platform: Platform, actor: Actor): Promise<LoginCode> {
  const { loginCodes } = platform.db;
  const code = newSecret();
  const now = platform.now();
  const expiresAt = new Date(now + limits.loginCodeLifeMs);
  const mine = { accountId: actor.id };
  const fresh = { _id: sha256(code), ...mine, createdAt: new Date(now), expiresAt };
  while ((await insertInSlot(loginCodes, mine, limits.loginCodesPerPerson, fresh)).end === 'full')
    await loginCodes.findOneAndDelete(mine).sort({ createdAt: 1 }).lean();
  return { code, expiresAt: expiresAt.toISOString() };
}

/**
 * Uses a code up and opens a session of whose it is, one of its own. Refuses 401, alike for a code that never was, was used or is too old. One conditional
 * delete: of those who use it at the same moment one gets in.
 */
export async function logInByCode(platform: Platform, code: string, client: Client): Promise<Session> {
  const live = { _id: sha256(code), expiresAt: trusted({ $gt: new Date(platform.now()) }) };
  const used = await platform.db.loginCodes.findOneAndDelete(live).lean();
  const account = used && (await platform.db.accounts.findOne({ _id: used.accountId, kind: 'person' }).lean());
  return account
    ? openSession(platform, account, client)
    : refuse('unauthorized', { hint: 'This login link has expired or was already used' });
}
