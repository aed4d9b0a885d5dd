import { forEachLimit } from '../../base/for-each-limit.ts';
import { limits } from '../../base/limits.ts';
import type { EventData } from '../../contract/events.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { type DuePresence, toStoredPresence } from '../../store/redis/presence.ts';
import { loadAccounts } from '../views/accounts.ts';
import { toVisibleStatus } from '../views/presence.ts';

/** How many presences one batch reads, and how many are published at once. */
const batchPresences = 100;
const publishConcurrency = 32;
/**
 * How long a worker holds the lock after taking it, in milliseconds. A batch that has run for more than half of it was paused, and another worker may have the
 * lock.
 */
const lockMs = 3_000;

type Presence = EventData<'PRESENCE_UPDATE'>;

/** An account whose presence is due, and its current presence as others see it. */
interface CurrentPresence {
  due: DuePresence;
  presence: Presence;
  isBot: boolean;
}

/** The memberships of these accounts: one query for all people, who are in at most 100 servers each, and one query for each bot, which reads at most 5,000. */
async function findMemberships(
  { db }: WorkerPlatform,
  changed: readonly CurrentPresence[],
): Promise<{ userId: string; serverId: string }[]> {
  const projection = { _id: 0, userId: 1, serverId: 1 } as const;
  const people = changed.filter(({ isBot }) => !isBot).map(({ due }) => due.accountId);
  const found = people.length > 0 ? await db.memberships.find({ userId: { $in: people } }, { projection }).toArray() : [];
  for (const { due, isBot } of changed)
    if (isBot)
      found.push(...(await db.memberships.find({ userId: due.accountId }, { projection }).limit(limits.presenceServers).toArray()));
  return found;
}

/** For each of these accounts, its servers with at most `limits.presencesToBotsMembers` members. Bots in such a server receive the account's presence without watching it. */
async function findSmallServers(platform: WorkerPlatform, changed: readonly CurrentPresence[]): Promise<ReadonlyMap<string, string[]>> {
  if (changed.length === 0) return new Map();
  const memberships = await findMemberships(platform, changed);
  const $in = [...new Set(memberships.map(({ serverId }) => serverId))];
  const isSmall = { _id: { $in }, memberCount: { $lte: limits.presencesToBotsMembers } };
  const small = new Set((await platform.db.servers.find(isSmall, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id));
  const servers = new Map(changed.map(({ due }): [string, string[]] => [due.accountId, []]));
  for (const { userId, serverId } of memberships) if (small.has(serverId)) servers.get(userId)?.push(serverId);
  return servers;
}

async function loadPresences(platform: WorkerPlatform, batch: readonly DuePresence[]): Promise<CurrentPresence[]> {
  const ids = batch.map(({ accountId }) => accountId);
  const [accounts, connected] = await Promise.all([loadAccounts(platform, ids), platform.connections.areConnected(ids)]);
  return batch.map((due, at) => {
    const account = accounts.get(due.accountId);
    const status = account ? toVisibleStatus(account, connected[at] ?? false) : 'offline';
    const presence = { userId: due.accountId, status, customStatus: account?.customStatus ?? null };
    return { due, presence, isBot: account?.kind === 'bot' };
  });
}

/** Reads the presences that are due, and publishes those that differ from the one published last. */
async function publishBatch(platform: WorkerPlatform, batch: readonly DuePresence[]): Promise<void> {
  const began = performance.now();
  const presences = await loadPresences(platform, batch);
  const changed = presences.filter(({ due, presence }) => toStoredPresence(presence) !== due.published);
  const servers = await findSmallServers(platform, changed);
  await forEachLimit(presences, publishConcurrency, async ({ due, presence }) => {
    if (performance.now() - began > lockMs / 2) return;
    const isPublished = await platform.presences.publish(due, presence, servers.get(due.accountId) ?? []);
    if (isPublished) platform.metrics.events.inc({ event: 'PRESENCE_UPDATE' });
  });
}

/**
 * Publishes the presence of every account whose presence changed: it connected or disconnected, its gateway node died, or its status or custom status changed.
 * One worker at a time does this; two at once publish nothing twice. A change that is undone before a worker reads it is not published. Rejects while Redis or
 * the database is unavailable; due presences stay due.
 */
export async function publishPresences(platform: WorkerPlatform): Promise<void> {
  if (!(await platform.presences.acquireLock(lockMs))) return;
  const began = performance.now();
  while (performance.now() - began < lockMs / 2) {
    const due = await platform.presences.listDue(batchPresences);
    if (due.length > 0) await publishBatch(platform, due);
    if (due.length < batchPresences) return;
  }
}
