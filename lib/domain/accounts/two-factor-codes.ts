import { Secret, TOTP } from 'otpauth';
import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { AccountDoc, TwoFactor } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { sha256, unseal } from '../../store/seal.ts';

/** An account with two-factor authentication. */
export type TwoFactorAccount = Pick<AccountDoc, '_id'> & { twoFactor: TwoFactor };

/** Whether two-factor authentication is on for `account`. */
export const hasTwoFactor = <T extends Pick<AccountDoc, '_id' | 'twoFactor'>>(account: T): account is T & TwoFactorAccount =>
  account.twoFactor !== undefined;

/** SHA-1, six digits and 30 s: what every authenticator app supports. */
const totpOptions = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
const totpPattern = /^[0-9]{6}$/;

/** The random bits of a recovery code are too many to guess, so its SHA-256 needs no salt. */
const recoveryCodeBytes = 10;

/** A code without the spaces and dashes that people type, in capital letters. */
const normalizeCode = (code: string): string => code.replace(/[\s-]/g, '').toUpperCase();

/** A new secret for an authenticator app: 160 random bits in Base32. */
export const createTotpSecret = (): string => new Secret({ size: 20 }).base32;

/** The `otpauth://` address of a secret, which a QR code shows to an app. The app lists it under the host of this installation. */
export function toTotpUri({ config: { baseUrl } }: Platform, username: string, secret: string): string {
  const { hostname } = new URL(baseUrl);
  return new TOTP({ ...totpOptions, issuer: hostname === 'localhost' ? 'Parlance' : hostname, label: username, secret }).toString();
}

/** The time step in which `code` is right for `secret`: the current one, the one before or the one after; null if it is wrong. */
export function findTimeStep(secret: string, code: string, now: number): number | null {
  const token = normalizeCode(code);
  if (!totpPattern.test(token)) return null; // the library throws for a text whose UTF-8 has another length
  const delta = TOTP.validate({ ...totpOptions, secret: Secret.fromBase32(secret), token, timestamp: now, window: 1 });
  return delta === null ? null : TOTP.counter({ period: totpOptions.period, timestamp: now }) + delta;
}

/** Makes recovery codes, and the hashes that are stored. */
export function createRecoveryCodes(): { codes: string[]; hashes: string[] } {
  const codes = Array.from({ length: limits.recoveryCodes }, () => new Secret({ size: recoveryCodeBytes }).base32);
  return { codes: codes.map((code) => code.replace(/(.{4})(?=.)/g, '$1-').toLowerCase()), hashes: codes.map(sha256) };
}

/** Matches the account only while it has the two-factor authentication that was read. */
const whileUnchanged = ({ _id, twoFactor }: TwoFactorAccount) => ({ _id, 'twoFactor.enabledAt': twoFactor.enabledAt });

async function consumeRecoveryCode({ db }: Platform, account: TwoFactorAccount, code: string): Promise<boolean> {
  const hash = sha256(code);
  const unused = { ...whileUnchanged(account), 'twoFactor.recoveryCodes': hash };
  return (await db.accounts.updateOne(unused, { $pull: { 'twoFactor.recoveryCodes': hash } })).matchedCount === 1;
}

async function consumeTotp(platform: Platform, account: TwoFactorAccount, code: string): Promise<boolean> {
  const { accounts } = platform.db;
  const now = platform.now();
  const canTry = {
    ...whileUnchanged(account),
    $or: [
      { 'twoFactor.wrongCodes.count': { $not: { $gte: limits.wrongTotps } } },
      { 'twoFactor.wrongCodes.until': { $lte: new Date(now) } },
    ],
  };
  const secret = unseal(platform.config, account.twoFactor.secret);
  if (secret === null) platform.log.warn({ accountId: account._id }, 'cannot decrypt a two-factor secret; run operator reset-two-factor');
  const step = secret === null ? null : findTimeStep(secret, code, now);
  if (step !== null) {
    const fresh = { ...canTry, 'twoFactor.lastStep': { $lt: step } };
    if ((await accounts.updateOne(fresh, { $set: { 'twoFactor.lastStep': step } })).matchedCount === 1) return true;
  }
  const wrong = '$twoFactor.wrongCodes';
  const isCounting = { $gt: [`${wrong}.until`, new Date(now)] };
  const count = { $cond: [isCounting, { $add: [`${wrong}.count`, 1] }, 1] };
  const until = { $cond: [isCounting, `${wrong}.until`, new Date(now + limits.wrongTotpsMs)] };
  if ((await accounts.updateOne(canTry, [{ $set: { 'twoFactor.wrongCodes': { count, until } } }])).matchedCount === 1) return false;
  const after = await accounts.findOne({ _id: account._id }, { projection: { 'twoFactor.wrongCodes': 1 } });
  const waitMs = (after?.twoFactor?.wrongCodes?.until.getTime() ?? 0) - now;
  if (waitMs > 0) refuse('two_factor_locked', { minutes: Math.ceil(waitMs / 60_000) }, { retryAfter: waitMs / 1000 });
  return false;
}

/**
 * Uses up a code of an authenticator app or a recovery code; false if it is wrong or was used before. One conditional write decides, so of simultaneous uses
 * only one succeeds. Refuses `two_factor_locked` after 10 wrong codes of an app within a day, also for a right one: each try is one write that is made only
 * while there were fewer, so simultaneous tries are counted as well. Recovery codes are too long to guess and always work, so that nobody who knows the
 * password can lock the person out. Call it only after the password was right.
 */
export function consumeCode(platform: Platform, account: TwoFactorAccount, given: string): Promise<boolean> {
  const code = normalizeCode(given);
  return totpPattern.test(code) ? consumeTotp(platform, account, code) : consumeRecoveryCode(platform, account, code);
}
