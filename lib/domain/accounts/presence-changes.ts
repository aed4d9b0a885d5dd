import { forEachAtOnce } from '../../base/at-once.ts';
import { limits } from '../../base/limits.ts';
import type { EventData } from '../../contract/events.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { type DuePresence, keptPresence } from '../../store/redis/log/presence.ts';
import { seenStatusOf } from './presence.ts';
import { accountsOf } from './public-profiles.ts';

/** How many presences one batch reads, and how many are published at once. */
const batchPresences = 100;
const publishedAtOnce = 32;
/**
 * How long a worker holds the lock after taking it, in milliseconds. A batch that has run for more than half of it was paused, and another worker may have the
 * lock.
 */
const turnMs = 3_000;

type Presence = EventData<'PRESENCE_UPDATE'>;

/** An account whose presence is due, and its current presence as others see it. */
interface Looked {
  due: DuePresence;
  presence: Presence;
  isBot: boolean;
}

/** The memberships of these accounts: one query for all people, who are in at most 100 servers each, and one query for each bot, which reads at most 5,000. */
async function membershipsOf({ db }: WorkerPlatform, changed: readonly Looked[]): Promise<{ userId: string; serverId: string }[]> {
  const shown = { _id: 0, userId: 1, serverId: 1 } as const;
  const people = changed.filter(({ isBot }) => !isBot).map(({ due }) => due.accountId);
  const found = people.length > 0 ? await db.members.find({ userId: trusted({ $in: people }) }, shown).lean() : [];
  for (const { due, isBot } of changed)
    if (isBot) found.push(...(await db.members.find({ userId: due.accountId }, shown).limit(limits.presenceServers).lean()));
  return found;
}

/** For each of these accounts, its servers with at most 1,000 members. Bots in such a server receive the account's presence without watching it. */
async function smallServersOf(platform: WorkerPlatform, changed: readonly Looked[]): Promise<ReadonlyMap<string, string[]>> {
  if (changed.length === 0) return new Map();
  const memberships = await membershipsOf(platform, changed);
  const $in = [...new Set(memberships.map(({ serverId }) => serverId))];
  const isSmall = { _id: trusted({ $in }), memberCount: trusted({ $lte: limits.smallServerMembers }) };
  const small = new Set((await platform.db.servers.find(isSmall, { _id: 1 }).lean()).map(({ _id }) => _id));
  const servers = new Map(changed.map(({ due }): [string, string[]] => [due.accountId, []]));
  for (const { userId, serverId } of memberships) if (small.has(serverId)) servers.get(userId)?.push(serverId);
  return servers;
}

async function look(platform: WorkerPlatform, batch: readonly DuePresence[]): Promise<Looked[]> {
  const ids = batch.map(({ accountId }) => accountId);
  const [accounts, connected] = await Promise.all([accountsOf(platform, ids), platform.connected(ids)]);
  return batch.map((due, at) => {
    const account = accounts.get(due.accountId);
    const status = account ? seenStatusOf(account, connected[at] ?? false) : 'offline';
    const presence = { userId: due.accountId, status, customStatus: account?.customStatus ?? null };
    return { due, presence, isBot: account?.kind === 'bot' };
  });
}

/** Reads the presences that are due, and publishes those that differ from the one published last. */
async function publishBatch(platform: WorkerPlatform, batch: readonly DuePresence[]): Promise<void> {
  const began = performance.now();
  const looked = await look(platform, batch);
  const changed = looked.filter(({ due, presence }) => keptPresence(presence) !== due.published);
  const servers = await smallServersOf(platform, changed);
  await forEachAtOnce(looked, publishedAtOnce, async ({ due, presence }) => {
    if (performance.now() - began > turnMs / 2) return;
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
  if (!(await platform.presences.takeTurn(turnMs))) return;
  const began = performance.now();
  while (performance.now() - began < turnMs / 2) {
    const due = await platform.presences.due(batchPresences);
    if (due.length > 0) await publishBatch(platform, due);
    if (due.length < batchPresences) return;
  }
}
