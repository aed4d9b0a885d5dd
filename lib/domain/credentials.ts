import { timingSafeEqual } from 'node:crypto';
import { readById } from '../store/batched-reads.ts';
import type { AccountDoc, TokenDoc } from '../store/models/account.ts';
import type { Platform } from '../store/platform.ts';
import { newSecret, sha256 } from '../store/seal.ts';
import type { Actor } from './access.ts';

/** How long a person's session lasts, in milliseconds: 90 days. */
export const sessionLifeMs = 90 * 24 * 3_600_000;

/** A token as text: `<its id>.<32 random bytes>`. Only its hash is stored (docs/behavior/requests.md#secrets). */
export function newToken(id: string): { token: string; hash: string } {
  const token = `${id}.${newSecret()}`;
  return { token, hash: sha256(token) };
}

/** A credential that was checked, with the account it belongs to and the account's version it was checked under. */
export interface Credential {
  readonly version: string | null;
  readonly token: TokenDoc;
  readonly account: AccountDoc;
}

const tokenPattern = /^([0-9]{19})\.[A-Za-z0-9_-]{43}$/;

function matches(token: string, stored: TokenDoc, now: number): boolean {
  const fresh = stored.expiresAt === null || stored.expiresAt.getTime() > now;
  return timingSafeEqual(Buffer.from(sha256(token), 'hex'), Buffer.from(stored.hash, 'hex')) && fresh;
}

/** The id that a token begins with; null when it is malformed. */
export const tokenIdOf = (token: string): string | null => tokenPattern.exec(token)?.[1] ?? null;

/**
 * Checks a token under `version`, its account's access version. null for an unknown, malformed, expired or wrong token, which all look the same.
 * `versionOf` is asked for the version only after the secret matched; it answers null while Redis is away, and then nothing is cached. `beforeRead` is called
 * before the database is read for a token that the cache does not prove, and may throw.
 */
export async function checkToken(
  platform: Platform,
  token: string,
  versionOf: (accountId: string) => Promise<string | null>,
  beforeRead: () => void = () => undefined,
): Promise<Credential | null> {
  const id = tokenIdOf(token);
  if (!id) return null;
  const key = `token:${id}`;
  const cached = platform.cache.get(key) as Credential | undefined;
  const isCached = cached !== undefined && matches(token, cached.token, platform.now());
  if (isCached && cached.version !== null && cached.version === (await versionOf(cached.account._id))) return cached;
  beforeRead();
  // A token that differs from the cached one may be newer, so the database decides.
  const credential = await readCredential(platform, id, token, versionOf);
  if (credential === null && isCached) platform.cache.delete(key);
  else if (credential !== null && credential.version !== null && platform.redisUp()) platform.cache.set(key, credential);
  return credential;
}

async function readCredential(
  platform: Platform,
  id: string,
  token: string,
  versionOf: (accountId: string) => Promise<string | null>,
): Promise<Credential | null> {
  const first = await readById(platform.db.tokens, id);
  if (!first || !matches(token, first, platform.now())) return null;
  const version = await versionOf(first.accountId);
  // Read again under the version: the token may have been reset in between.
  const [stored, account] = await Promise.all([readById(platform.db.tokens, id), readById(platform.db.accounts, first.accountId)]);
  if (!stored || !account || !matches(token, stored, platform.now())) return null;
  return { version, token: stored, account };
}

/** Reads one id's version now. */
const versionNow =
  (platform: Platform) =>
  async (id: string): Promise<string | null> =>
    (await platform.versions.read([id]))?.[0] ?? null;

/** The credential behind `token`, checked now; null when there is none. For the gateway, which has no gate. */
export const credentialOf = (platform: Platform, token: string): Promise<Credential | null> =>
  checkToken(platform, token, versionNow(platform));

/** An actor for `account` whose versions are `known` or read when first needed. */
export function actorOf(platform: Platform, account: AccountDoc, known: ReadonlyMap<string, string | null>): Actor {
  return {
    account,
    id: account._id,
    bot: account.kind === 'bot',
    version: known.get(account._id) ?? null,
    versionOf: async (serverId) => {
      const version = known.get(serverId);
      return version === undefined ? versionNow(platform)(serverId) : version;
    },
  };
}
