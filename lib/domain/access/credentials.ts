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

/**
 * Checks a token under the access version of its account. Returns null for an unknown, malformed, expired or wrong token, without saying which. `versionOf` is
 * called only after the secret matched; it returns null while Redis is unavailable, and then nothing is cached. `beforeRead` is called before the database is
 * read, which happens if the cache does not confirm the token; it may reject.
 */
export async function checkToken(
  platform: Platform,
  token: string,
  versionOf: (accountId: string) => Promise<string | null>,
  beforeRead: () => Promise<void> = () => Promise.resolve(),
): Promise<Credential | null> {
  const id = parseTokenId(token);
  if (!id) return null;
  const key = `token:${id}`;
  const cached = platform.accessCache.get(key) as Credential | undefined;
  const isCached = cached !== undefined && isValidToken(token, cached.token, platform.now());
  if (isCached && cached.version !== null && cached.version === (await versionOf(cached.account._id))) return cached;
  await beforeRead();
  // A token that differs from the cached one may be newer, so the database decides.
  const credential = await readCredential(platform, id, token, versionOf);
  if (credential === null && isCached) platform.accessCache.delete(key);
  else if (credential !== null && credential.version !== null && platform.isRedisUp()) platform.accessCache.set(key, credential);
  return credential;
}

/** Whether an account, or the owner of a bot's application, is suspended (docs/behavior/accounts.md#suspension). */
export async function isSuspended({ db }: Pick<Platform, 'db'>, { suspendedAt, applicationId }: AccountDoc): Promise<boolean> {
  if (suspendedAt !== undefined || applicationId === null) return suspendedAt !== undefined;
  const application = await readById(db.applications, applicationId);
  return application !== null && (await readById(db.accounts, application.ownerId))?.suspendedAt !== undefined;
}

async function readCredential(
  platform: Platform,
  id: string,
  token: string,
  versionOf: (accountId: string) => Promise<string | null>,
): Promise<Credential | null> {
  const unversioned = await readById(platform.db.tokens, id);
  if (!unversioned || !isValidToken(token, unversioned, platform.now())) return null;
  const version = await versionOf(unversioned.accountId);
  // Read again under the version: the token may have been reset in between.
  const [stored, account] = await Promise.all([readById(platform.db.tokens, id), readById(platform.db.accounts, unversioned.accountId)]);
  if (!stored || !account || !isValidToken(token, stored, platform.now()) || (await isSuspended(platform, account))) return null;
  return { version, token: stored, account };
}

/** Reads the current access version of one id. */
const readCurrentVersion =
  (platform: Platform) =>
  async (id: string): Promise<string | null> =>
    (await platform.accessVersions.read([id]))?.[0] ?? null;

/** Checks `token` and returns its credential, or null if it is not valid. For the gateway, which has no preflight. */
export const loadCredential = (platform: Platform, token: string): Promise<Credential | null> =>
  checkToken(platform, token, readCurrentVersion(platform));

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
