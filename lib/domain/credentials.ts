import { timingSafeEqual } from 'node:crypto';
import type { AccountDoc, TokenDoc } from '../store/models/account.ts';
import type { Platform } from '../store/platform.ts';
import { newSecret, sha256 } from '../store/seal.ts';
import type { Actor } from './access.ts';

/** How long a person's session lasts, in milliseconds: 90 days. */
export const sessionLifeMs = 90 * 24 * 3_600_000;

/** A token as text: `<its id>.<32 random bytes>`; only its hash is stored (decisions 3). */
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

/** The account that a token was last seen with, without checking it: tells which versions to ask for. null when this process has not seen it. */
export function hintOfToken(platform: Platform, token: string): string | null {
  const id = tokenPattern.exec(token)?.[1];
  return (id && (platform.cache.get(`token:${id}`) as Credential | undefined)?.account._id) || null;
}

/**
 * Checks a token under `version`, its account's access version. null for an unknown, malformed, expired or wrong token, which all look the same.
 * `versionOf` is asked for the version once the account is known; it answers null while Redis is away, and then nothing is cached.
 */
export async function checkToken(
  platform: Platform,
  token: string,
  versionOf: (accountId: string) => Promise<string | null>,
): Promise<Credential | null> {
  const id = tokenPattern.exec(token)?.[1];
  if (!id) return null;
  const key = `token:${id}`;
  const cached = platform.cache.get(key) as Credential | undefined;
  if (cached?.version != null && cached.version === (await versionOf(cached.account._id)))
    return matches(token, cached.token, platform.now()) ? cached : null;
  const first = await platform.db.tokens.findOne({ _id: id }).lean();
  if (!first || !matches(token, first, platform.now())) return null;
  const version = await versionOf(first.accountId);
  // Read again under the version: the token may have been reset in between.
  const [stored, account] = await Promise.all([
    platform.db.tokens.findOne({ _id: id }).lean(),
    platform.db.accounts.findOne({ _id: first.accountId }).lean(),
  ]);
  if (!stored || !account || !matches(token, stored, platform.now())) return null;
  const credential: Credential = { version, token: stored, account };
  if (version !== null && platform.redisUp()) platform.cache.set(key, credential);
  return credential;
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
    versionOf: async (serverId) => {
      const version = known.get(serverId);
      return version === undefined ? versionNow(platform)(serverId) : version;
    },
  };
}
