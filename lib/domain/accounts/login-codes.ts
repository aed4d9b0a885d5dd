import { limits } from '../../base/limits.ts';
import type { LoginCode, LoginCodePreview, Session } from '../../contract/auth.ts';
import { insertInSlot } from '../../store/mongo/insert.ts';
import type { LoginCodeDoc } from '../../store/mongo/models/login-code.ts';
import type { Platform } from '../../store/platform.ts';
import { createSecret, sha256 } from '../../store/seal.ts';
import type { Actor } from '../access/checks.ts';
import { openSession } from './accounts.ts';
import { previewCode, requireCodeOwner, validCodeFilter } from './one-use-codes.ts';
import { type Client, hasSession } from './sessions.ts';

/**
 * Makes a code that logs the caller in once, within 15 minutes, while the session `sessionId` lasts. Only its hash is stored. A person has at most five codes:
 * a new one replaces the oldest.
 */
export async function createLoginCode(platform: Platform, actor: Actor, sessionId: string): Promise<LoginCode> {
  const { loginCodes } = platform.db;
  const code = createSecret();
  const now = platform.now();
  const expiresAt = new Date(now + limits.loginCodeLifeMs);
  const scope = { accountId: actor.id };
  const fresh = { _id: sha256(code), ...scope, sessionId, createdAt: new Date(now), expiresAt };
  while ((await insertInSlot(loginCodes, scope, limits.loginCodesPerPerson, fresh)).outcome === 'full')
    await loginCodes.findOneAndDelete(scope, { sort: { createdAt: 1 } });
  return { code, expiresAt: expiresAt.toISOString() };
}

const hint = 'This login link has expired or was already used';

/** Whether the session that made a code has not ended. A code of the version before has none. */
const isOfLiveSession = (platform: Platform, { accountId, sessionId }: LoginCodeDoc): Promise<boolean> =>
  sessionId === undefined ? Promise.resolve(true) : hasSession(platform, accountId, sessionId);

/** The code, if it works; null otherwise. */
async function findCode(platform: Platform, code: string): Promise<LoginCodeDoc | null> {
  const found = await platform.db.loginCodes.findOne(validCodeFilter(platform, code));
  return found && (await isOfLiveSession(platform, found)) ? found : null;
}

/** Returns whom a code logs in without using it up, so that a page can ask first. Refuses with 401 as `logInByCode` does. */
export const previewLoginCode = async (platform: Platform, code: string): Promise<LoginCodePreview> =>
  previewCode(platform, await findCode(platform, code), hint);

/**
 * Uses up a code and opens a new session for its person. Refuses with 401, which is the same for an unknown, a used and an expired code, and for one whose
 * session has ended. One conditional delete decides, so only one of several simultaneous requests succeeds. A session that ends at the same moment also ends
 * the new one: see `createSession`.
 */
export async function logInByCode(platform: Platform, code: string, client: Client): Promise<Session> {
  const { loginCodes } = platform.db;
  // The account is read before the code is used up: a change that ends all codes is then noticed by `createSession`.
  const found = await findCode(platform, code);
  const account = await requireCodeOwner(platform, found, hint);
  await requireCodeOwner(platform, await loginCodes.findOneAndDelete(validCodeFilter(platform, code)), hint);
  return openSession(platform, account, client, { codeOf: found?.sessionId });
}
