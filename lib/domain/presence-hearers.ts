import { limits } from '../base/limits.ts';
import type { Hearers } from '../store/bus/envelope.ts';
import { trusted } from '../store/database.ts';
import type { WorkerPlatform } from '../store/platform.ts';

/** Servers asked about in one query. */
const batchServers = 500;
/** How many DMs of a batch of accounts are looked at, those used last first: an account's list shows no more than a tenth of them. */
const batchDms = limits.dmsListed * 10;

/** Bots of one server, and the version of its access data that they were found under. */
export interface BotsThere {
  server: { id: string; version: string };
  bots: readonly string[];
}

/** Who hears of an account, each once: bots under the first server that they share, bots that only share a DM, and where its people are. */
export interface AccountHearers {
  byServer: readonly BotsThere[];
  dmBots: readonly string[];
  people: Hearers;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

/** The bots of these servers, with each server's version as it was before they were read. Throws while Redis is away. */
async function botsIn({ db, versions }: WorkerPlatform, serverIds: readonly string[]): Promise<Map<string, BotsThere>> {
  const found = new Map<string, BotsThere>();
  for (let start = 0; start < serverIds.length; start += batchServers) {
    const ids = serverIds.slice(start, start + batchServers);
    const now = await versions.read(ids);
    if (!now) throw new Error('redis is away');
    const members = await db.members.find({ serverId: trusted({ $in: ids }), bot: true }, { _id: 0, serverId: 1, userId: 1 }).lean();
    const bots = grouped(members, ({ serverId }) => serverId);
    ids.forEach((id, at) => {
      const there = (bots.get(id) ?? []).map(({ userId }) => userId);
      found.set(id, { server: { id, version: now[at] as string }, bots: there });
    });
  }
  return found;
}

/** Who hears of each of these accounts: those that share a server or a DM with it (decisions 7). A few queries for all of them. */
export async function hearersOf(platform: WorkerPlatform, accountIds: readonly string[]): Promise<(accountId: string) => AccountHearers> {
  const { members, dms } = platform.db;
  const $in = [...accountIds];
  const [memberships, talks] = await Promise.all([
    members.find({ userId: trusted({ $in }) }, { _id: 0, userId: 1, serverId: 1 }).lean(),
    dms
      .find({ userIds: trusted({ $in }) }, { _id: 0, userIds: 1, bots: 1 })
      .sort({ activeId: -1 })
      .limit(batchDms)
      .lean(),
  ]);
  const servers = grouped(memberships, ({ userId }) => userId);
  const there = await botsIn(platform, [...new Set(memberships.map(({ serverId }) => serverId))]);
  const talksOf = grouped(
    talks.flatMap(({ userIds: [one, other], bots }) => [
      { id: one, other, bots },
      { id: other, other: one, bots },
    ]),
    ({ id }) => id,
  );
  return (accountId) => {
    const places = (servers.get(accountId) ?? []).map(({ serverId }) => there.get(serverId) as BotsThere);
    const known = new Set([accountId]);
    const unknown = (bots: readonly string[]): string[] => bots.filter((id) => !known.has(id) && known.add(id));
    const byServer = places.map(({ server, bots }) => ({ server, bots: unknown(bots) })).filter(({ bots }) => bots.length > 0);
    const own = talksOf.get(accountId) ?? [];
    return {
      byServer,
      dmBots: unknown(own.flatMap(({ bots }) => bots)),
      people: { servers: places.map(({ server: { id, version } }) => [id, version]), users: own.map(({ other }) => other) },
    };
  };
}
