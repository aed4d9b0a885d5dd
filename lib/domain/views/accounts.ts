import type { Author, PublicUser, Tag, UserSummary } from '../../contract/user.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';

/** The public profile of an account, without its tag. */
export const toUserSummary = (account: AccountDoc): UserSummary => ({
  id: account._id,
  username: account.username,
  displayName: account.displayName,
  avatarUrl: account.avatarUrl,
});

/** An account's tag: the one that the platform granted, otherwise `bot` for bots, otherwise null. */
export const getTag = (account: AccountDoc): Tag | null => account.tag ?? (account.kind === 'bot' ? 'bot' : null);

/** An account's public profile, with its tag. */
export const toPublicUser = (account: AccountDoc): PublicUser => ({ ...toUserSummary(account), tag: getTag(account) });

/** An account as the author of a message. */
export function toAuthor(account: AccountDoc): Author {
  const tag = getTag(account);
  return tag ? { ...toUserSummary(account), tag } : toUserSummary(account);
}

/** The author shown for a deleted account. */
export const deletedAuthor = (id: string): Author => ({ id, username: 'deleted', displayName: 'Deleted account', avatarUrl: null });

interface CachedAccount {
  version: string;
  account: AccountDoc;
}

/**
 * Returns the accounts with these ids, by id; unknown ones are left out. `loadedAccounts` are accounts that the caller already has, such as the actor's. The
 * others take one round trip to Redis if all are cached under their versions, and one query more if not. The round trip is saved for those whose versions are in
 * `knownVersions`, which the same request has read before.
 */
export async function loadAccounts(
  platform: Platform,
  ids: readonly string[],
  loadedAccounts: readonly AccountDoc[] = [],
  knownVersions: ReadonlyMap<string, string | null> = new Map(),
): Promise<Map<string, AccountDoc>> {
  const found = new Map(loadedAccounts.map((account) => [account._id, account]));
  const wanted = [...new Set(ids)].filter((id) => !found.has(id));
  if (wanted.length === 0) return found;
  const unread = wanted.filter((id) => !knownVersions.has(id));
  const read = unread.length > 0 ? await platform.accessVersions.read(unread) : [];
  const versions = new Map([...knownVersions, ...unread.map((id, at): [string, string | null] => [id, read?.[at] ?? null])]);
  for (const id of wanted) {
    const cached = platform.accessCache.get(`account:${id}`) as CachedAccount | undefined;
    if (cached && cached.version === versions.get(id)) found.set(id, cached.account);
  }
  const missing = wanted.filter((id) => !found.has(id));
  if (missing.length === 0) return found;
  const readAccounts = await platform.db.accounts.find({ _id: { $in: missing } }).toArray();
  for (const account of readAccounts) {
    found.set(account._id, account);
    const version = versions.get(account._id);
    if (typeof version === 'string' && platform.isRedisUp())
      platform.accessCache.set(`account:${account._id}`, { version, account } satisfies CachedAccount);
  }
  return found;
}
