import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { foldSearch } from '../../base/text.ts';
import type { AccountDeletion } from '../../contract/account-deletion.ts';
import type { Filter } from '../../store/mongo/database.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import { type ServerDoc, serverNamesIndex, storageIndex } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { findAllServerIds } from '../access/memberships.ts';
import { toAccountDeletion } from '../accounts/accounts.ts';

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
  const prefix = foldSearch(query);
  const from = after === undefined ? { $gte: prefix } : { $gt: after };
  const found = await db.accounts
    .find({ kind: 'person', username: { ...from, $lt: endOfPrefix(prefix) } })
    .sort({ username: 1 })
    .limit(limit + 1)
    .toArray();
  return toPage(found, limit, toListedAccount, ({ username }) => username);
}

/** A server by id; 404 for an unknown one. */
const requireListedServer = async ({ db }: Platform, id: string): Promise<ServerDoc> =>
  (await db.servers.findOne({ _id: id })) ?? refuse('not_found', { what: 'server' });

/** The servers in the order of a field and then of `_id`: those that match the first of `filters`, then those of the second, `limit + 1` in all. */
async function readInOrder(
  { db }: Platform,
  filters: readonly Filter<ServerDoc>[],
  { sort, hint, limit }: { sort: Record<string, 1 | -1>; hint: string; limit: number },
): Promise<ServerDoc[]> {
  const found: ServerDoc[] = [];
  for (const filter of filters) {
    const left = limit + 1 - found.length;
    if (left > 0) found.push(...(await db.servers.find(filter).sort(sort).hint(hint).limit(left).toArray()));
  }
  return found;
}

/**
 * Lists servers, oldest first; with `query` those whose name begins with it, by name, in any case, or the one whose id it is. `after` is the id of the last
 * server of the page before.
 */
export async function listServersOfAll(platform: Platform, page: PageQuery): Promise<Page<ListedServer>> {
  const { db } = platform;
  const { query = '', after, limit = limits.operatorPageDefault } = page;
  if (isId(query)) return { items: (await db.servers.find({ _id: query }).toArray()).map(toListedServer), next: null };
  const prefix = foldSearch(query);
  if (prefix === '') {
    const found = await db.servers
      .find({ _id: { $gt: after ?? '' } })
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray();
    return toPage(found, limit, toListedServer, ({ _id }) => _id);
  }
  const last = after === undefined ? undefined : foldSearch((await requireListedServer(platform, after)).name);
  const filters =
    last === undefined
      ? [{ 'search.name': { $gte: prefix, $lt: endOfPrefix(prefix) } }]
      : [{ 'search.name': last, _id: { $gt: after } }, { 'search.name': { $gt: last, $lt: endOfPrefix(prefix) } }];
  const order = { sort: { 'search.name': 1, _id: 1 }, hint: serverNamesIndex, limit } as const;
  return toPage(await readInOrder(platform, filters as Filter<ServerDoc>[], order), limit, toListedServer, ({ _id }) => _id);
}

/** The servers whose messages keep the most bytes of files, largest first. `after` is the id of the last server of the page before. */
export async function listStorage(
  platform: Platform,
  { after, limit = limits.operatorPageDefault }: PageQuery,
): Promise<Page<ListedServer>> {
  const last = after === undefined ? undefined : ((await requireListedServer(platform, after)).storedBytes ?? 0);
  const filters: Filter<ServerDoc>[] =
    last === undefined || after === undefined
      ? [{ storedBytes: { $gt: 0 } }]
      : [{ storedBytes: last, _id: { $gt: after } }, { storedBytes: { $gt: 0, $lt: last } }];
  const found = await readInOrder(platform, filters, { sort: { storedBytes: -1, _id: 1 }, hint: storageIndex, limit });
  return toPage(found, limit, toListedServer, ({ _id }) => _id);
}

/** What operators see of one account. `servers` are those of the account, at most 100 for a person; `sessions` are a person's that have not ended. */
export interface AccountDetails extends ListedAccount {
  kind: AccountDoc['kind'];
  tag: AccountDoc['tag'];
  suspendedReason: string | null;
  /** The account of the OpenID Connect provider that logs the person in. */
  identity: { issuer: string; subject: string; linkedAt: string } | null;
  /** When the account will be deleted, and what happens to its messages; null if no deletion is scheduled. */
  deletion: AccountDeletion | null;
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
    deletion: account.deletion ? toAccountDeletion(account.deletion) : null,
    sessions: sessions.length,
    lastUsedAt: sessions[0]?.lastUsedAt?.toISOString() ?? null,
    twoFactor: account.twoFactor !== undefined,
    serverCount: serverIds.length,
    ownedServers: servers.filter(({ ownerId }) => ownerId === id).map(({ _id, name }) => ({ id: _id, name })),
    applications: applications.map(({ _id, name }) => ({ id: _id, name })),
  };
}
