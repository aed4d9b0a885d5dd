import { trusted } from '../../store/mongo/database.ts';
import type { Platform } from '../../store/platform.ts';

/** How many accounts one query reads. */
const batch = 1_000;
/** How old counts may be before they are refreshed, in milliseconds. Counting never takes more than about a tenth of the time. */
const freshMs = 1_000;
/** How old counts may be while new ones are computed, in milliseconds; older if counting is slow. After that readers wait for the new ones. */
const staleMs = 10_000;

/** The online counts of all servers, as one process caches them. */
interface Counts {
  /** The last counts; null until there are any. */
  made: { at: number; took: number; byServer: ReadonlyMap<string, number> } | null;
  /** The count in progress. */
  making: Promise<ReadonlyMap<string, number>> | null;
}

const kept = new WeakMap<Platform['db'], Counts>();

/** Adds the memberships of these accounts to the counts of their servers. Invisible accounts count as offline (docs/behavior/accounts.md#presence). */
async function addTo(byServer: Map<string, number>, { db }: Platform, accountIds: readonly string[]): Promise<void> {
  const hidden = await db.accounts.find({ _id: trusted({ $in: [...accountIds] }), status: 'invisible' }, { _id: 1 }).lean();
  const unseen = new Set(hidden.map(({ _id }) => _id));
  const found = await db.members.collection
    .aggregate<{ _id: string; online: number }>([
      { $match: { userId: { $in: accountIds.filter((id) => !unseen.has(id)) } } },
      { $group: { _id: '$serverId', online: { $sum: 1 } } },
    ])
    .toArray();
  for (const { _id, online } of found) byServer.set(_id, (byServer.get(_id) ?? 0) + online);
}

/** Counts who is online, for every server at once. The cost depends on how many accounts are connected, not on how many servers or members there are. */
async function count(platform: Platform): Promise<ReadonlyMap<string, number>> {
  const byServer = new Map<string, number>();
  const connected = await platform.connectedNow().catch(() => new Set<string>());
  const accountIds = [...connected];
  for (let start = 0; start < accountIds.length; start += batch) await addTo(byServer, platform, accountIds.slice(start, start + batch));
  return byServer;
}

/** The count in progress, or a new one. */
function make(platform: Platform, counts: Counts): Promise<ReadonlyMap<string, number>> {
  const making = async (): Promise<ReadonlyMap<string, number>> => {
    const began = performance.now();
    try {
      const byServer = await count(platform);
      counts.made = { at: began, took: performance.now() - began, byServer };
      return byServer;
    } finally {
      counts.making = null;
    }
  };
  counts.making ??= making();
  return counts.making;
}

/** The current counts, at most some seconds old. While Redis is unavailable nobody counts as online. */
async function countsNow(platform: Platform): Promise<ReadonlyMap<string, number>> {
  const counts: Counts = kept.get(platform.db) ?? { made: null, making: null };
  kept.set(platform.db, counts);
  if (!platform.redisUp()) return new Map();
  const { made } = counts;
  const age = made ? performance.now() - made.at : Number.POSITIVE_INFINITY;
  if (made && age < Math.max(freshMs, made.took * 10)) return made.byServer;
  const making = make(platform, counts);
  if (!made || age > Math.max(staleMs, made.took * 20)) return making;
  making.catch((error: unknown) => platform.log.debug({ err: error }, 'online counts could not be updated; retrying later'));
  return made.byServer;
}

/**
 * How many members of each server are connected and not invisible, by server id (docs/behavior/community.md#online-counts). The counts may be some seconds old:
 * each process caches those of all servers, so a page costs no query.
 */
export async function onlineCountsOf(platform: Platform, serverIds: readonly string[]): Promise<Map<string, number>> {
  const counts = await countsNow(platform);
  return new Map(serverIds.map((id) => [id, counts.get(id) ?? 0]));
}
