import { refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { MemberRules } from '../../base/permissions.ts';
import { toNeedles } from '../../base/text.ts';
import type { Member, MembersQuery } from '../../contract/member.ts';
import type { CachedResponse } from '../../store/caches.ts';
import { memberNameIndexes, type ServerDoc, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { toMemberListId } from '../../store/redis/access-versions.ts';
import { type Actor, requireServer, type ServerContext } from '../access/checks.ts';
import { loadAccounts } from '../views/accounts.ts';
import { loadConnected } from '../views/presence.ts';
import { toMember, toMembers } from './members.ts';

/** A page of a list as JSON, and the id to continue after; null on the last page. */
export interface ListPage {
  json: Buffer;
  next: string | null;
}

/** One member of a cached page as JSON, with the version and connection state that it was made from. `json` is null if the account no longer exists. */
interface CachedRow {
  version: string;
  isConnected: boolean;
  json: string | null;
}

/** A page of members under one access version of their server. `listVersion` is the version of the member list: who is in the server, and with which roles. */
interface CachedPage extends ListPage, CachedResponse {
  listVersion: string;
  members: readonly MemberRules[];
  rows: readonly CachedRow[];
}

/** The memory of a cached page besides its text, in bytes: for each row, and for the page. */
const [rowBytes, pageBytes] = [512, 1024];

const toJson = (rows: readonly CachedRow[]): Buffer => Buffer.from(`[${rows.flatMap(({ json }) => json ?? []).join()}]`);

const slicePage = <T>(found: readonly T[], limit: number, getId: (one: T) => string): { page: readonly T[]; next: string | null } => {
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return { page, next: found.length > limit && last ? getId(last) : null };
};

/** The current rows of `members`. Rows whose account version and connection have not changed are taken from `previousRows`. */
async function loadRows(
  platform: Platform,
  server: ServerDoc,
  members: readonly MemberRules[],
  versions: readonly string[],
  previousRows: readonly CachedRow[] = [],
): Promise<readonly CachedRow[]> {
  const ids = members.map((one) => one.userId);
  const connected = await loadConnected(platform, ids);
  const isSame = (at: number): boolean => {
    const row = previousRows[at];
    return row?.version === versions[at] && row?.isConnected === connected.has(ids[at] as string);
  };
  const changed = ids.filter((_, at) => !isSame(at));
  if (changed.length === 0) return previousRows;
  const accounts = await loadAccounts(platform, changed);
  return members.map((member, at) => {
    if (isSame(at)) return previousRows[at] as CachedRow;
    const account = accounts.get(member.userId);
    const isConnected = connected.has(member.userId);
    const json = account ? JSON.stringify(toMember(server, member, account, isConnected)) : null;
    return { version: versions[at] as string, isConnected, json };
  });
}

const findPage = async ({ db }: Platform, serverId: string, after: string, limit: number) =>
  slicePage(
    await db.members
      .find({ serverId, userId: { $gt: after } }, { projection: { userId: 1, roles: 1, serverId: 1 } })
      .sort({ serverId: 1, userId: 1 })
      .limit(limit + 1)
      .toArray(),
    limit,
    (one) => one.userId,
  );

/**
 * A page in the order of user ids. Its members are cached under the versions of the server and of its member list. Each row is checked against the version of
 * its account and whether it is connected, so an answer is never older than the request. For a cached page this takes two round trips to Redis.
 */
async function loadPageById(platform: Platform, { access, server }: ServerContext, after: string, limit: number): Promise<ListPage> {
  const key = `members:${server._id}:${access.version}:${after}:${limit}`;
  const cachedPage = access.version === null ? undefined : (platform.responseCache.get(key) as CachedPage | undefined);
  const idsOf = (some: readonly MemberRules[]): string[] => some.map(({ userId }) => userId);
  const read = await platform.accessVersions.read([toMemberListId(server._id), ...idsOf(cachedPage?.members ?? [])]);
  const [listVersion, ...knownVersions] = read ?? [];
  const current = cachedPage && cachedPage.listVersion === listVersion ? cachedPage : undefined;
  const { page: members, next } = current
    ? { page: current.members, next: current.next }
    : await findPage(platform, server._id, after, limit);
  const versions = current ? knownVersions : await platform.accessVersions.read(idsOf(members));
  if (access.version === null || listVersion === undefined || !versions) return toPage(await toMembers(platform, server, members), next);
  const rows = await loadRows(platform, server, members, versions, current?.rows);
  if (current && rows === current.rows) return current;
  const json = toJson(rows);
  // The text is held twice: in the rows, counted with two bytes per character, and in `json`.
  const fresh: CachedPage = { listVersion, members, rows, next, json, sizeBytes: json.length * 3 + rows.length * rowBytes + pageBytes };
  if (platform.isRedisUp()) platform.responseCache.set(key, fresh);
  return fresh;
}

const toPage = (shown: readonly Member[], next: string | null): ListPage => ({ json: Buffer.from(JSON.stringify(shown)), next });

/** A member that a search found, with the name that matched. */
interface Match {
  name: string;
  userId: string;
}

const byName = (a: Match, b: Match): number => (a.name === b.name ? (a.userId < b.userId ? -1 : 1) : a.name < b.name ? -1 : 1);

/** The first `max` members whose username or display name begins with `prefix`, in the order of that name. Read through the index of that name. */
async function findMatches({ db }: Platform, serverId: string, prefix: string, kind: 'username' | 'displayName', max: number) {
  const field = `search.${kind}` as const;
  const found = await db.members
    .find({ serverId, [field]: { $gte: prefix, $lt: `${prefix}\u{10ffff}` } }, { projection: { userId: 1, search: 1 } })
    .sort({ serverId: 1, [field]: 1, userId: 1 })
    .limit(max)
    .hint(memberNameIndexes[kind])
    .toArray();
  return found.map(({ userId, search }): Match => ({ name: search?.[kind] ?? '', userId }));
}

/**
 * A page of the members whose username or display name begins with `query`, in the order of that name, so that an exact match comes first. At most 1,000
 * matches of each kind of name are read. Refuses an `after` that is not among them.
 */
async function searchByName(
  platform: Platform,
  { server }: ServerContext,
  query: string,
  limit: number,
  after?: string,
): Promise<ListPage> {
  const maxMatches = after === undefined ? Math.min(limit + 1, limits.membersSearched) : limits.membersSearched;
  const kinds = ['username', 'displayName'] as const;
  const found = await Promise.all(
    toNeedles(query).flatMap((prefix) => kinds.map((kind) => findMatches(platform, server._id, prefix, kind, maxMatches))),
  );
  const matches = new Map<string, Match>();
  for (const match of found.flat().toSorted(byName)) if (!matches.has(match.userId)) matches.set(match.userId, match);
  const all = [...matches.keys()];
  const from = after === undefined ? 0 : all.indexOf(after) + 1;
  if (after !== undefined && from === 0) refuseField('/after', 'This member does not match the query.');
  const { page, next } = slicePage(all.slice(from), limit, (id) => id);
  const docs = await platform.db.members.find(toMemberKeys([server._id], page)).toArray();
  const byId = new Map(docs.map((doc) => [doc.userId, doc]));
  return toPage(
    await toMembers(
      platform,
      server,
      page.flatMap((id) => byId.get(id) ?? []),
    ),
    next,
  );
}

/**
 * A page of a server's members, in the order of their ids, or with `query` of the matching names. `limit` defaults to 1,000, or to 100 with `after` or `query`.
 */
export async function listMembers(
  platform: Platform,
  actor: Actor,
  serverId: string,
  { limit: requestedLimit, after, query }: MembersQuery,
): Promise<ListPage> {
  const context = await requireServer(platform, actor, serverId);
  const limit = requestedLimit ?? (after === undefined && query === undefined ? limits.membersListed : limits.membersPageDefault);
  if (query !== undefined) return searchByName(platform, context, query, limit, after);
  return loadPageById(platform, context, after ?? '', limit);
}
