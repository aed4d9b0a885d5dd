import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type {
  RecoveryCodes,
  TwoFactorChange,
  TwoFactorConfirmation,
  TwoFactorSetup,
  TwoFactorStart,
  TwoFactorState,
} from '../../contract/two-factor.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { seal, unseal } from '../../store/seal.ts';
import type { Actor } from '../access/checks.ts';
import { refuseCode, requireOwnPassword } from './own-password.ts';
import { type Client, endOtherSessions } from './sessions.ts';
import { requirePersonAccount } from './suspensions.ts';
import {
  consumeCode,
  createRecoveryCodes,
  createTotpSecret,
  findTimeStep,
  hasTwoFactor,
  type TwoFactorAccount,
  toTotpUri,
} from './two-factor-codes.ts';

/** The caller's account as it is stored now. */
const readOwn = async ({ db }: Platform, { id }: Actor): Promise<AccountDoc> =>
  (await db.accounts.findOne({ _id: id })) ?? refuse('unauthorized', { hint: 'This account no longer exists' });

const refuseAlreadyOn = (): never => refuse('invalid_request', { reason: 'two-factor authentication is already on' });
const refuseOff = (): never => refuse('invalid_request', { reason: 'two-factor authentication is off' });
const refuseSetup = (): never => refuse('invalid_request', { reason: 'the setup has expired or was not started. Start again' });

/** Whether the caller has two-factor authentication, since when, and how many recovery codes are left. */
export async function getTwoFactor(platform: Platform, actor: Actor): Promise<TwoFactorState> {
  const { twoFactor } = await readOwn(platform, actor);
  return {
    enabled: twoFactor !== undefined,
    enabledAt: twoFactor?.enabledAt.toISOString() ?? null,
    recoveryCodesLeft: twoFactor?.recoveryCodes.length ?? 0,
  };
}

/**
 * Makes a secret for the caller's authenticator app, which replaces an earlier one that was not confirmed. Nothing else changes until a code confirms it.
 * Refuses `invalid_request` if two-factor authentication is on. Also refuses as `requireOwnPassword`.
 */
export async function startTwoFactor(
  platform: Platform,
  actor: Actor,
  { password }: TwoFactorStart,
  client: Client,
): Promise<TwoFactorSetup> {
  await requireOwnPassword(platform, actor.id, password, client, '/password');
  const secret = createTotpSecret();
  const expiresAt = new Date(platform.now() + limits.twoFactorSetupMs);
  const twoFactorSetup = { secret: seal(platform.config.APP_KEY, secret), expiresAt };
  const off = { _id: actor.id, twoFactor: { $exists: false } };
  if ((await platform.db.accounts.updateOne(off, { $set: { twoFactorSetup } })).matchedCount === 0) refuseAlreadyOn();
  return { secret, uri: toTotpUri(platform, actor.account.username, secret), expiresAt: expiresAt.toISOString() };
}

/**
 * Turns two-factor authentication on with a code for the secret that `startTwoFactor` made, and returns recovery codes. Ends all other sessions, and all login
 * codes; a login that is under way opens none. Refuses `invalid_request` for a wrong code, and without a setup that is still valid.
 */
export async function enableTwoFactor(
  platform: Platform,
  actor: Actor,
  { code }: TwoFactorConfirmation,
  tokenId: string | null,
): Promise<RecoveryCodes> {
  const { twoFactor, twoFactorSetup } = await readOwn(platform, actor);
  if (twoFactor) refuseAlreadyOn();
  const now = platform.now();
  const secret = twoFactorSetup && twoFactorSetup.expiresAt.getTime() > now ? unseal(platform.config, twoFactorSetup.secret) : null;
  if (!twoFactorSetup || secret === null) return refuseSetup();
  const lastStep = findTimeStep(secret, code, now) ?? refuseCode();
  const { codes, hashes } = createRecoveryCodes();
  const sealed = seal(platform.config.APP_KEY, secret); // the key may have been replaced since
  const { matchedCount } = await platform.db.accounts.updateOne(
    { _id: actor.id, 'twoFactorSetup.secret': twoFactorSetup.secret },
    {
      $set: { twoFactor: { secret: sealed, enabledAt: new Date(now), lastStep, recoveryCodes: hashes } },
      $unset: { twoFactorSetup: 1 },
    },
  );
  if (matchedCount === 0) refuseSetup();
  await endOtherSessions(platform, actor, tokenId);
  return { recoveryCodes: codes };
}

/** Checks the caller's password, and uses up a code. Refuses `invalid_request` for a wrong one, or without two-factor authentication; and as `consumeCode`. */
async function requireOwnFactors(
  platform: Platform,
  actor: Actor,
  { password, code }: TwoFactorChange,
  client: Client,
): Promise<TwoFactorAccount> {
  await requireOwnPassword(platform, actor.id, password, client, '/password');
  const account = await readOwn(platform, actor);
  if (!hasTwoFactor(account)) return refuseOff();
  return (await consumeCode(platform, account, code)) ? account : refuseCode();
}

/** Turns the caller's two-factor authentication off. Refuses as `requireOwnFactors`. */
export async function disableTwoFactor(platform: Platform, actor: Actor, input: TwoFactorChange, client: Client): Promise<void> {
  const { _id, twoFactor } = await requireOwnFactors(platform, actor, input, client);
  await platform.db.accounts.updateOne({ _id, 'twoFactor.enabledAt': twoFactor.enabledAt }, { $unset: { twoFactor: 1 } });
}

/** Replaces all of the caller's recovery codes. Refuses as `requireOwnFactors`. */
export async function replaceRecoveryCodes(
  platform: Platform,
  actor: Actor,
  input: TwoFactorChange,
  client: Client,
): Promise<RecoveryCodes> {
  const { _id, twoFactor } = await requireOwnFactors(platform, actor, input, client);
  const { codes, hashes } = createRecoveryCodes();
  const { matchedCount } = await platform.db.accounts.updateOne(
    { _id, 'twoFactor.enabledAt': twoFactor.enabledAt },
    { $set: { 'twoFactor.recoveryCodes': hashes } },
  );
  return matchedCount === 1 ? { recoveryCodes: codes } : refuseOff();
}

/** Turns off the two-factor authentication of a person who lost the device, for an operator. Refuses as `requirePersonAccount`. */
export async function resetTwoFactor(platform: Platform, id: string): Promise<{ account: AccountDoc; isChanged: boolean }> {
  const account = await requirePersonAccount(platform, id);
  const { modifiedCount } = await platform.db.accounts.updateOne(
    { _id: id, twoFactor: { $exists: true } },
    { $unset: { twoFactor: 1, twoFactorSetup: 1 } },
  );
  return { account, isChanged: modifiedCount > 0 };
}
