import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { PasswordResetInput, PasswordResetPreview } from '../../contract/auth.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { Platform } from '../../store/platform.ts';
import { createSecret, sha256 } from '../../store/seal.ts';
import { requireNewPassword } from './new-passwords.ts';
import { previewCode, requireCodeOwner, validCodeFilter } from './one-use-codes.ts';
import { hashPassword, queueHash } from './passwords.ts';
import { type Client, endAllSessions } from './sessions.ts';

/** How often to replace an earlier link. Concurrent commands may store one in between. */
const triesMax = 20;

/** Makes a code with which a person chooses a new password once, within an hour. Only its hash is stored. It replaces the person's earlier code. */
export async function createPasswordReset(platform: Platform, accountId: string): Promise<{ code: string; expiresAt: Date }> {
  const { passwordResets } = platform.db;
  const code = createSecret();
  const createdAt = new Date(platform.now());
  const expiresAt = new Date(createdAt.getTime() + limits.passwordResetLifeMs);
  for (let tries = 1; tries <= triesMax; tries++) {
    await passwordResets.deleteMany({ accountId });
    if (await insertNew(passwordResets, { _id: sha256(code), accountId, createdAt, expiresAt })) return { code, expiresAt };
  }
  return refuse('unavailable');
}

const hint = 'This password link has expired or was already used';

/** Returns whose password a code changes, without using it up. Refuses with 401 as `resetPassword` does. */
export const previewPasswordReset = async (platform: Platform, code: string): Promise<PasswordResetPreview> =>
  previewCode(platform, await platform.db.passwordResets.findOne(validCodeFilter(platform, code)), hint);

/**
 * Uses up a code, sets the person's new password, and ends all sessions and login codes on every node at once. Refuses with 401, which is the same for an
 * unknown, a used and an expired code. One conditional delete decides, so only one of several simultaneous requests succeeds. Also refuses as `requireNewPassword` and `queueHash`.
 */
export async function resetPassword(platform: Platform, { code, newPassword }: PasswordResetInput, { address }: Client): Promise<void> {
  const { passwordResets, accounts } = platform.db;
  const { username } = await requireCodeOwner(platform, await passwordResets.findOne(validCodeFilter(platform, code)), hint); // a wrong code costs no hash
  requireNewPassword(newPassword, username, '/newPassword');
  const passwordHash = await queueHash(address, () => hashPassword(newPassword));
  const { _id } = await requireCodeOwner(platform, await passwordResets.findOneAndDelete(validCodeFilter(platform, code)), hint);
  await accounts.updateOne({ _id }, { $set: { passwordHash } });
  await endAllSessions(platform, _id);
}
