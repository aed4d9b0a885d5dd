import { type FieldError, Refusal, refuse, requireNoErrors } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { countCodePoints, foldCase, foldSearch, isBlank, toWellFormed } from '../../base/text.ts';
import type { CommunitySettings, DiscoveryInput } from '../../contract/community.ts';
import type { DiscoveryPage, DiscoveryQuery, DiscoveryServer } from '../../contract/discovery.ts';
import { isTeamServer, type Server, teamTypes } from '../../contract/server.ts';
import { discoveryIndex, type ServerDoc, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { diffFields, writeAudit } from '../access/audit.ts';
import { type Actor, loadCurrentServerAccess, requireServer } from '../access/checks.ts';
import { joinServer } from '../members/joining.ts';
import { loadOnlineCounts } from '../servers/online-counts.ts';
import { addSummaryEvent, requireServerDoc, type Settings, toCommunitySettings, toSettings } from './community.ts';
import { textFilter, toPage, toPageRange } from './directory-pages.ts';

/**
 * Returns tags as they are stored: trimmed, and only the first of those that differ only in case. Refuses a tag that is blank or too long after trimming, and
 * too many tags after duplicates are removed.
 */
function normalizeTags(given: readonly string[]): string[] {
  const tags = new Map<string, string>();
  const errors: FieldError[] = [];
  for (const [at, raw] of given.entries()) {
    const tag = toWellFormed(raw.trim());
    const maxChars = limits.discoveryTagChars;
    if (isBlank(tag) || countCodePoints(tag) > maxChars) errors.push({ path: `/tags/${at}`, message: `Use 1 to ${maxChars} characters.` });
    if (!tags.has(foldCase(tag))) tags.set(foldCase(tag), tag);
  }
  if (tags.size > limits.discoveryTags) errors.push({ path: '/tags', message: `Use at most ${limits.discoveryTags} tags.` });
  requireNoErrors(errors);
  return [...tags.values()];
}

/** The settings in a request body, as they are stored. */
const toSettingsChange = ({ listed, category, description, tags }: DiscoveryInput): Partial<Settings> => ({
  ...(listed === undefined ? {} : { listed }),
  ...(category === undefined ? {} : { category }),
  ...(description === undefined ? {} : { description: toWellFormed(description) }),
  ...(tags === undefined ? {} : { tags: normalizeTags(tags) }),
});

/** Refuses settings that this server may not have, in the order of docs/behavior/community.md#listing. */
function requireListable({ types }: ServerDoc, change: Partial<Settings>, after: Settings): void {
  if (change.listed && isTeamServer(types)) refuse('team_server');
  const errors: FieldError[] = [];
  if (change.listed && !after.community)
    errors.push({ path: '/listed', message: 'Only a Community server can be listed. Turn Community on first.' });
  if (after.listed && isBlank(after.description)) errors.push({ path: '/description', message: 'A listed server needs a description.' });
  requireNoErrors(errors);
}

/** The fields of the server's document for these settings, including the search fields. */
const toServerFields = ({ listed, category, description, tags }: Partial<Settings>): object => ({
  ...(listed === undefined ? {} : { listed }),
  ...(category === undefined ? {} : { 'discovery.category': category }),
  ...(description === undefined ? {} : { 'discovery.description': description, 'search.description': foldSearch(description) }),
  ...(tags === undefined ? {} : { 'discovery.tags': tags, 'search.tags': foldSearch(tags.join('\n')) }),
});

/**
 * Changes the Discovery settings of a server, and whether it is listed. Missing fields keep their value. Needs Manage Server. Refuses with `team_server` to
 * list a staff or developer server, and with 400 to list a server without Community or without a description. One conditional write requires what was checked,
 * so it respects a concurrent grant of types, Community being turned off, or a cleared description.
 */
export async function setDiscovery(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string,
  input: DiscoveryInput,
): Promise<CommunitySettings> {
  await requireServer(platform, actor, serverId, 'Manage Server');
  const change = toSettingsChange(input);
  for (;;) {
    const server = await requireServerDoc(platform, serverId);
    const current = toSettings(server);
    const after = { ...current, ...change };
    requireListable(server, change, after);
    const changes = diffFields(current, change);
    if (Object.keys(changes).length === 0) return toCommunitySettings(current);
    const unchangedFilter = { _id: serverId, listed: current.listed, 'discovery.description': server.discovery?.description ?? null };
    const listable = after.listed ? { community: true, types: { $nin: teamTypes } } : {};
    const { modifiedCount } = await platform.accessVersions.runChange({ servers: [serverId] }, () =>
      platform.db.servers.updateOne(
        { ...unchangedFilter, ...listable },
        {
          $set: toServerFields(change),
          ...addSummaryEvent(platform, server, changes),
        },
      ),
    );
    if (modifiedCount === 0) continue;
    if ('listed' in changes) platform.wake('relay-server', { serverId });
    await writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes });
    return toCommunitySettings(after);
  }
}

/** The fields of a server that are searched. */
const searchedFields = ['search.name', 'search.description', 'search.tags'];

/**
 * Returns a page of the servers in Discovery, most members first. `q` is matched literally and in any case in name, description and tags. Staff and developer
 * servers are left out, even if they are still marked as listed.
 */
export async function listDiscovery(platform: Platform, actor: Actor, query: DiscoveryQuery): Promise<DiscoveryPage> {
  const page = toPageRange(query);
  const { category, q } = query;
  const filter = {
    listed: true,
    community: true,
    types: { $nin: teamTypes },
    ...(category === undefined ? {} : { 'discovery.category': category === 'other' ? { $in: ['other', null] } : category }),
    ...textFilter(q, searchedFields),
  };
  const projection = { name: 1, iconUrl: 1, types: 1, memberCount: 1, community: 1, listed: 1, discovery: 1 };
  const found = await platform.db.servers
    .find(filter, { projection })
    .sort({ memberCount: -1, _id: 1 })
    .skip(page.skip)
    .limit(page.limit + 1)
    .hint(discoveryIndex)
    .toArray();
  const { items, hasMore } = toPage(found, page);
  return { items: await toDiscoveryServers(platform, actor, items), hasMore };
}

/** Servers as Discovery shows them to the caller. */
async function toDiscoveryServers(platform: Platform, actor: Actor, servers: readonly ServerDoc[]): Promise<DiscoveryServer[]> {
  const ids = servers.map((server) => server._id);
  const [online, joined] = await Promise.all([
    loadOnlineCounts(platform, ids),
    platform.db.members.find(toMemberKeys(ids, [actor.id]), { projection: { serverId: 1 } }).toArray(),
  ]);
  const joinedIds = new Set(joined.map((member) => member.serverId));
  return servers.map((server) => {
    const { category, description, tags } = toSettings(server);
    return {
      id: server._id,
      name: server.name,
      iconUrl: server.iconUrl,
      description,
      category,
      tags,
      memberCount: server.memberCount,
      onlineCount: online.get(server._id) ?? 0,
      joined: joinedIds.has(server._id),
      types: server.types,
    };
  });
}

/** The only error without a `code`. It is the same for servers that are not listed and for those that do not exist (docs/behavior/community.md#joining). */
const refuseNotListed = (): never => refuse('not_found', { what: 'Discovery listing' }, { codeless: true });

/**
 * Adds the caller to a listed server without an invite, by the rules of `joinServer`, and returns the full server. People only. A server that is not listed is
 * refused first, with 404 without a code, also for its members.
 */
export async function joinByDiscovery(platform: EnqueuePlatform, actor: Actor, serverId: string): Promise<Server> {
  const access = isId(serverId) ? await loadCurrentServerAccess(platform, serverId) : null;
  if (!access) return refuseNotListed();
  const { listed, community, types } = access.server;
  if (!listed || !community || isTeamServer(types)) return refuseNotListed();
  try {
    return await joinServer(platform, actor, access);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') refuseNotListed(); // the server was deleted concurrently
    throw error;
  }
}
