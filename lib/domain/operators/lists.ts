import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { foldCase } from '../../base/text.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import { type ServerDoc, storageIndex } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { findAllServerIds } from '../members/memberships.ts';

/** A page of a list: which one is after `after`, and how many it has. */
export interface PageQuery {
  query?: string;
  after?: string;
  limit?: number;
}

/** One page. `next` is the `after` of the next page; null on the last one. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

/** What operators see of an account in a list. */
export interface ListedAccount {
  id: string;
  username: string;
  displayName: string;
  createdAt: string;
  suspendedAt: string | null;
  storedBytes: number;
}

/** What operators see of a server in a list. */
export interface ListedServer {
  id: string;
  name: string;
  ownerId: string;
  memberCount: number;
  storedBytes: number;
  createdAt: string;
}

const toListedAccount = ({ _id, username, displayName, createdAt, suspendedAt, storedBytes = 0 }: AccountDoc): ListedAccount => ({
  id: _id,
  username,
  displayName,
  createdAt: createdAt.toISOString(),
  suspendedAt: suspendedAt?.toISOString() ?? null,
  storedBytes,
});

/** What operators see of a server in a list. */
export const toListedServer = ({ _id, name, ownerId, memberCount, storedBytes = 0, createdAt }: ServerDoc): ListedServer => ({
  id: _id,
  name,
  ownerId,
  memberCount,
  storedBytes,
  createdAt: createdAt.toISOString(),
});

const toPage = <D, T>(found: readonly D[], limit: number, toItem: (doc: D) => T, getCursor: (doc: D) => string): Page<T> => {
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(toItem), next: found.length > limit && last !== undefined ? getCursor(last) : null };
};

/** Above every text that begins with the same characters. */
const endOfPrefix = (prefix: string): string => `${prefix}\u{10ffff}`;

const isId = (text: string): boolean => /^[0-9]{19}$/.test(text);

/** Lists people by username: those whose username begins with `query`, or the one account, also of a bot, whose id it is. */
export async function listAccounts({ db }: Platform, page: PageQuery): Promise<Page<ListedAccount>> {
  const { query = '', after, limit = limits.operatorPageDefault } = page;
  if (isId(query)) return { items: (await db.accounts.find({ _id: query }).toArray()).map(toListedAccount), next: null };
  const prefix = query.toLowerCase();
  const from = after === undefined ? { $gte: prefix } : { $gt: after };
  const found = await db.accounts
    .find({ kind: 'person', username: { ...from, $lt: endOfPrefix(prefix) } })
    .sort({ username: 1 })
    .limit(limit + 1)
    .toArray();
  return toPage(found, limit, toListedAccount, ({ username }) => username);
}

/**
 * Lists servers, oldest first; with `query` those whose name begins with it, by name, in any case, or the one whose id it is. A search has one page: `next` is
 * null, and `hasMore` says whether there are further ones.
 */
export async function listServersOfAll({ db }: Platform, page: PageQuery): Promise<Page<ListedServer> & { hasMore: boolean }> {
  const { query = '', after = '', limit = limits.operatorPageDefault } = page;
  if (isId(query)) return { items: (await db.servers.find({ _id: query }).toArray()).map(toListedServer), next: null, hasMore: false };
  const prefix = foldCase(query);
  const found =
    prefix === ''
      ? await db.servers
          .find({ _id: { $gt: after } })
          .sort({ _id: 1 })
          .limit(limit + 1)
          .toArray()
      : await db.servers
          .find({ 'search.name': { $gte: prefix, $lt: endOfPrefix(prefix) } })
          .sort({ 'search.name': 1, _id: 1 })
          .limit(limit + 1)
          .toArray();
  const listed = toPage(found, limit, toListedServer, ({ _id }) => _id);
  return { items: listed.items, next: prefix === '' ? listed.next : null, hasMore: found.length > limit };
}

/** The servers whose messages keep the most bytes of files, largest first. */
export async function listStorage({ db }: Platform, { limit = limits.operatorPageDefault }: PageQuery): Promise<ListedServer[]> {
  const found = await db.servers
    .find({ storedBytes: { $gt: 0 } })
    .sort({ storedBytes: -1, _id: 1 })
    .hint(storageIndex)
    .limit(limit)
    .toArray();
  return found.map(toListedServer);
}

/** What operators see of one account. `servers` are those of the account, at most 100 for a person; `sessions` are a person's that have not ended. */
export interface AccountDetails extends ListedAccount {
  kind: AccountDoc['kind'];
  tag: AccountDoc['tag'];
  suspendedReason: string | null;
  /** The account of the OpenID Connect provider that logs the person in. */
  identity: { issuer: string; subject: string; linkedAt: string } | null;
  sessions: number;
  lastUsedAt: string | null;
  twoFactor: boolean;
  serverCount: number;
  ownedServers: { id: string; name: string }[];
  applications: { id: string; name: string }[];
}

/** The details of one account; 404 for an unknown id. */
export async function getAccountDetails(platform: Platform, id: string): Promise<AccountDetails> {
  const { db } = platform;
  const account = (await db.accounts.findOne({ _id: id })) ?? refuse('not_found', { what: 'account' });
  const serverIds = await findAllServerIds(platform, id);
  const [sessions, servers, applications] = await Promise.all([
    db.tokens
      .find({ accountId: id, kind: 'session', expiresAt: { $gt: new Date(platform.now()) } }, { hint: 'accountId_1' })
      .sort({ lastUsedAt: -1, _id: -1 })
      .limit(limits.loginSessionsPerPerson)
      .toArray(),
    db.servers
      .find({ _id: { $in: serverIds.slice(0, limits.serversPerPerson) } })
      .sort({ _id: 1 })
      .toArray(),
    db.applications.find({ ownerId: id }).sort({ slot: 1 }).limit(limits.applicationsPerPerson).toArray(),
  ]);
  return {
    ...toListedAccount(account),
    kind: account.kind,
    tag: account.tag,
    suspendedReason: account.suspendedReason ?? null,
    identity: account.identity ? { ...account.identity, linkedAt: account.identity.linkedAt.toISOString() } : null,
    sessions: sessions.length,
    lastUsedAt: sessions[0]?.lastUsedAt?.toISOString() ?? null,
    twoFactor: account.twoFactor !== undefined,
    serverCount: serverIds.length,
    ownedServers: servers.filter(({ ownerId }) => ownerId === id).map(({ _id, name }) => ({ id: _id, name })),
    applications: applications.map(({ _id, name }) => ({ id: _id, name })),
  };
}
