import { timingSafeEqual } from 'node:crypto';
import { readById } from '../../store/mongo/batched-reads.ts';
import type { AccountDoc, TokenDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { createSecret, sha256 } from '../../store/seal.ts';
import type { Actor } from './checks.ts';

/** How long a person's session lasts, in milliseconds: 90 days. */
export const sessionLifeMs = 90 * 24 * 3_600_000;

/** Makes a token, `<id>.<32 random bytes>`, and its hash. Only the hash is stored (docs/behavior/requests.md#secrets). */
export function newToken(id: string): { token: string; hash: string } {
  const token = `${id}.${createSecret()}`;
  return { token, hash: sha256(token) };
}

/** A checked credential, with its account and the access version of the account at the time of the check. */
export interface Credential {
  readonly version: string | null;
  readonly token: TokenDoc;
  readonly account: AccountDoc;
}

const tokenPattern = /^([0-9]{19})\.[A-Za-z0-9_-]{43}$/;

function isValidToken(token: string, stored: TokenDoc, now: number): boolean {
  const isFresh = stored.expiresAt === null || stored.expiresAt.getTime() > now;
  return timingSafeEqual(Buffer.from(sha256(token), 'hex'), Buffer.from(stored.hash, 'hex')) && isFresh;
}

/** The id that a token begins with; null when it is malformed. */
export const parseTokenId = (token: string): string | null => tokenPattern.exec(token)?.[1] ?? null;

const toCacheKey = (tokenId: string | null): string => `token:${tokenId}`;

/** The credential that this process has read for a token before; null without one. It is right if its version is the current one (`isCurrent`). */
export function findCachedCredential(platform: Platform, token: string): Credential | null {
  const cached = platform.accessCache.get(toCacheKey(parseTokenId(token))) as Credential | undefined;
  // A token that differs from the cached one may be newer, so the database decides.
  return cached && isValidToken(token, cached.token, platform.now()) ? cached : null;
}

/** Whether nothing that decides about a credential has changed since it was read. `version` is the current access version; null while Redis is unavailable. */
export const isCurrent = (credential: Credential, version: string | null): boolean => version !== null && credential.version === version;

async function readToken({ db, now }: Platform, token: string): Promise<TokenDoc | null> {
  const id = parseTokenId(token);
  const stored = id === null ? null : await readById(db.tokens, id);
  return stored && isValidToken(token, stored, now()) ? stored : null;
}

/** The account that a token belongs to by the database; null for an unknown, malformed, expired or wrong token, without saying which. */
export const readTokenAccountId = async (platform: Platform, token: string): Promise<string | null> =>
  (await readToken(platform, token))?.accountId ?? null;

/**
 * Reads the credential of a token of `accountId`, and caches it for the access version of the account, which was read before. Null for a token that is not valid,
 * and for an account that is suspended.
 */
export async function readCredential(
  platform: Platform,
  token: string,
  accountId: string,
  version: string | null,
): Promise<Credential | null> {
  const [stored, account] = await Promise.all([readToken(platform, token), readById(platform.db.accounts, accountId)]);
  if (!stored || !account || (await isSuspended(platform, account))) {
    if (findCachedCredential(platform, token)) platform.accessCache.delete(toCacheKey(parseTokenId(token)));
    return null;
  }
  const credential = { version, token: stored, account };
  if (version !== null && platform.isRedisUp()) platform.accessCache.set(toCacheKey(stored._id), credential);
  return credential;
}

/** Whether an account, or the owner of a bot's application, is suspended (docs/behavior/accounts.md#suspension). */
export async function isSuspended({ db }: Pick<Platform, 'db'>, { suspendedAt, applicationId }: AccountDoc): Promise<boolean> {
  if (suspendedAt !== undefined || applicationId === null) return suspendedAt !== undefined;
  const application = await readById(db.applications, applicationId);
  return application !== null && (await readById(db.accounts, application.ownerId))?.suspendedAt !== undefined;
}

/** Reads the current access version of one id. */
const readCurrentVersion =
  (platform: Platform) =>
  async (id: string): Promise<string | null> =>
    (await platform.accessVersions.read([id]))?.[0] ?? null;

/** The credential of a token under the current version of its account, or null if it is not valid. For the gateway, which has no preflight. */
export async function loadCredential(platform: Platform, token: string): Promise<Credential | null> {
  const cached = findCachedCredential(platform, token);
  const accountId = cached ? cached.account._id : await readTokenAccountId(platform, token);
  if (accountId === null) return null;
  const version = await readCurrentVersion(platform)(accountId);
  return cached && isCurrent(cached, version) ? cached : readCredential(platform, token, accountId, version);
}

/** Makes an actor for `account`. Its versions come from `knownVersions`, or are read when they are needed. */
export function createActor(platform: Platform, account: AccountDoc, knownVersions: ReadonlyMap<string, string | null>): Actor {
  return {
    account,
    id: account._id,
    isBot: account.kind === 'bot',
    version: knownVersions.get(account._id) ?? null,
    versionOf: async (serverId) => {
      const version = knownVersions.get(serverId);
      return version === undefined ? readCurrentVersion(platform)(serverId) : version;
    },
  };
}
