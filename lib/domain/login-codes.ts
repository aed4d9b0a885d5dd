import { refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { LoginCode, LoginCodePreview, Session } from '../contract/user.ts';
import { trusted } from '../store/database.ts';
import { insertInSlot } from '../store/insert.ts';
import type { AccountDoc } from '../store/models/account.ts';
import type { Platform } from '../store/platform.ts';
import { newSecret, sha256 } from '../store/seal.ts';
import type { Actor } from './access.ts';
import { openSession } from './accounts.ts';
import { faceOf } from './faces.ts';
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

const hint = 'This login link has expired or was already used';

/** What finds a code that still works. */
const liveCode = (platform: Platform, code: string) => ({ _id: sha256(code), expiresAt: trusted({ $gt: new Date(platform.now()) }) });

const personOf = async ({ db }: Platform, found: { accountId: string } | null): Promise<AccountDoc> =>
  (found && (await db.accounts.findOne({ _id: found.accountId, kind: 'person' }).lean())) || refuse('unauthorized', { hint });

/** Says whom a code logs in, and leaves it as it is, so that a page can ask first. Refuses 401 as `logInByCode`. */
export async function previewLoginCode(platform: Platform, code: string): Promise<LoginCodePreview> {
  const found = await platform.db.loginCodes.findOne(liveCode(platform, code)).lean();
  const account = await personOf(platform, found);
  return { user: faceOf(account), expiresAt: (found?.expiresAt ?? new Date(platform.now())).toISOString() };
}

/**
 * Uses a code up and opens a session of whose it is, one of its own. Refuses 401, alike for a code that never was, was used or is too old. One conditional
 * delete: of those who use it at the same moment one gets in.
 */
export async function logInByCode(platform: Platform, code: string, client: Client): Promise<Session> {
  const used = await platform.db.loginCodes.findOneAndDelete(liveCode(platform, code)).lean();
  return openSession(platform, await personOf(platform, used), client);
}
