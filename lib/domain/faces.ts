import type { Author, PublicUser, Tag, UserFace } from '../contract/user.ts';
import { trusted } from '../store/database.ts';
import type { AccountDoc } from '../store/models/account.ts';
import type { Platform } from '../store/platform.ts';

/** What others see of an account. */
export const faceOf = (account: AccountDoc): UserFace => ({
  id: account._id,
  username: account.username,
  displayName: account.displayName,
  avatarUrl: account.avatarUrl,
});

/** An account's tag: what the platform granted, else `bot` for bots, else none. */
export const tagOf = (account: AccountDoc): Tag | null => account.tag ?? (account.kind === 'bot' ? 'bot' : null);

/** An account's public profile. */
export const publicUserOf = (account: AccountDoc): PublicUser => ({ ...faceOf(account), tag: tagOf(account) });

/** An account as the author of a message. */
export function authorOf(account: AccountDoc): Author {
  const tag = tagOf(account);
  return tag ? { ...faceOf(account), tag } : faceOf(account);
}

/** The author shown for an account that is gone. */
export const goneAuthor = (id: string): Author => ({ id, username: 'deleted', displayName: 'Deleted account', avatarUrl: null });

interface CachedAccount {
  version: string;
  account: AccountDoc;
}

/**
 * The accounts of these ids, by id; unknown ones are left out. `known` are at hand already, such as the actor's. One round trip to Redis when all others
 * are cached under their versions, else one query more; none when `knownVersions` has them all: those that the same request has read already.
 */
export async function accountsOf(
  platform: Platform,
  ids: readonly string[],
  known: readonly AccountDoc[] = [],
  knownVersions: ReadonlyMap<string, string | null> = new Map(),
): Promise<Map<string, AccountDoc>> {
  const found = new Map(known.map((account) => [account._id, account]));
  const wanted = [...new Set(ids)].filter((id) => !found.has(id));
  if (wanted.length === 0) return found;
  const versions = wanted.every((id) => knownVersions.has(id))
    ? wanted.map((id) => knownVersions.get(id) ?? null)
    : await platform.versions.read(wanted);
  wanted.forEach((id, at) => {
    const cached = platform.cache.get(`account:${id}`) as CachedAccount | undefined;
    if (cached && cached.version === versions?.[at]) found.set(id, cached.account);
  });
  const missing = wanted.filter((id) => !found.has(id));
  if (missing.length === 0) return found;
  const loaded = await platform.db.accounts.find({ _id: trusted({ $in: missing }) }).lean();
  for (const account of loaded) {
    found.set(account._id, account);
    const version = versions?.[wanted.indexOf(account._id)];
    if (typeof version === 'string' && platform.redisUp())
      platform.cache.set(`account:${account._id}`, { version, account } satisfies CachedAccount);
  }
  return found;
}
