import { toParts } from '../../base/parts.ts';
import type { Platform } from '../../store/platform.ts';

/** How many accounts one query reads. */
const batchSize = 1_000;
/** How old counts may be before they are refreshed, in milliseconds. Counting never takes more than about a tenth of the time. */
const maxAgeMs = 1_000;
/** How old counts may be while new ones are computed, in milliseconds; older if counting is slow. After that readers wait for the new ones. */
const maxStaleMs = 10_000;

/** The online counts of all servers, as one process caches them. */
interface CountCache {
  /** The last counts; null until there are any. */
  latest: { at: number; tookMs: number; byServer: ReadonlyMap<string, number> } | null;
  /** The count in progress. */
  pending: Promise<ReadonlyMap<string, number>> | null;
}

const caches = new WeakMap<Platform['db'], CountCache>();

/** Adds the memberships of these accounts to the counts of their servers. Invisible accounts count as offline (docs/behavior/accounts.md#presence). */
async function addOnlineMembers(byServer: Map<string, number>, { db }: Platform, accountIds: readonly string[]): Promise<void> {
  const hidden = await db.accounts.find({ _id: { $in: [...accountIds] }, status: 'invisible' }, { projection: { _id: 1 } }).toArray();
  const hiddenIds = new Set(hidden.map(({ _id }) => _id));
  const found = await db.memberships
    .aggregate<{ _id: string; online: number }>([
      { $match: { userId: { $in: accountIds.filter((id) => !hiddenIds.has(id)) } } },
      { $group: { _id: '$serverId', online: { $sum: 1 } } },
    ])
    .toArray();
  for (const { _id, online } of found) byServer.set(_id, (byServer.get(_id) ?? 0) + online);
}

/** Counts who is online, for every server at once. The cost depends on how many accounts are connected, not on how many servers or members there are. */
async function countOnlineMembers(platform: Platform): Promise<ReadonlyMap<string, number>> {
  const byServer = new Map<string, number>();
  const connected = await platform.connections.listConnected().catch(() => new Set<string>());
  const accountIds = [...connected];
  for (const part of toParts(accountIds, batchSize)) await addOnlineMembers(byServer, platform, part);
  return byServer;
}

/** The count in progress, or a new one. */
function refreshCounts(platform: Platform, counts: CountCache): Promise<ReadonlyMap<string, number>> {
  const pending = async (): Promise<ReadonlyMap<string, number>> => {
    const began = performance.now();
    try {
      const byServer = await countOnlineMembers(platform);
      counts.latest = { at: began, tookMs: performance.now() - began, byServer };
      return byServer;
    } finally {
      counts.pending = null;
    }
  };
  counts.pending ??= pending();
  return counts.pending;
}

/** The current counts, at most some seconds old. While Redis is unavailable nobody counts as online. */
async function loadCounts(platform: Platform): Promise<ReadonlyMap<string, number>> {
  const counts: CountCache = caches.get(platform.db) ?? { latest: null, pending: null };
  caches.set(platform.db, counts);
  if (!platform.isRedisUp()) return new Map();
  const { latest } = counts;
  const age = latest ? performance.now() - latest.at : Number.POSITIVE_INFINITY;
  if (latest && age < Math.max(maxAgeMs, latest.tookMs * 10)) return latest.byServer;
  const pending = refreshCounts(platform, counts);
  if (!latest || age > Math.max(maxStaleMs, latest.tookMs * 20)) return pending;
  pending.catch((error: unknown) => platform.log.debug({ err: error }, 'online counts could not be updated; retrying later'));
  return latest.byServer;
}

/**
 * How many members of each server are connected and not invisible, by server id (docs/behavior/community.md#online-counts). The counts may be some seconds old:
 * each process caches those of all servers, so a page costs no query.
 */
export async function loadOnlineCounts(platform: Platform, serverIds: readonly string[]): Promise<Map<string, number>> {
  const counts = await loadCounts(platform);
  return new Map(serverIds.map((id) => [id, counts.get(id) ?? 0]));
}
