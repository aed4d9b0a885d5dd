import { forEachAtOnce } from '../base/at-once.ts';
import type { EventData } from '../contract/events.ts';
import type { DuePresence } from '../store/log/presence.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { accountsOf } from './faces.ts';
import { seenStatusOf } from './presence.ts';
import { type AccountHearers, hearersOf } from './presence-hearers.ts';

/** How many presences one batch looks at, and how many are told at once. */
const batchPresences = 100;
const toldAtOnce = 32;
/** How long a worker keeps the turn after its last look, in milliseconds; a batch older than half of it was paused, and another may have taken over. */
const turnMs = 3_000;

type News = EventData<'PRESENCE_UPDATE'>;

/** What is kept of what was told: nothing of who is offline. */
const keptOf = ({ status, customStatus }: News): string | null => (status === 'offline' ? null : JSON.stringify([status, customStatus]));

/** Sends a presence to everyone who shares a server or a DM with the account and is connected. */
const tell = (platform: WorkerPlatform, { accountId, number }: DuePresence, news: News, hearers: AccountHearers): Promise<void> =>
  platform.broadcast({ id: `presence-${accountId}-${number}`, name: 'PRESENCE_UPDATE', data: news, exceptAccount: accountId, ...hearers });

/** Looks at presences that are due, and tells of those that are seen otherwise than was told last. */
async function announceBatch(platform: WorkerPlatform, due: readonly DuePresence[]): Promise<void> {
  const began = performance.now();
  const ids = due.map(({ accountId }) => accountId);
  const [accounts, connected] = await Promise.all([accountsOf(platform, ids), platform.connected(ids)]);
  const looked = due.map((one, at) => {
    const account = accounts.get(one.accountId);
    const status = account ? seenStatusOf(account, connected[at] ?? false) : 'offline';
    return { one, news: { userId: one.accountId, status, customStatus: account?.customStatus ?? null } satisfies News };
  });
  const changed = looked.filter(({ one, news }) => keptOf(news) !== one.told).map(({ one }) => one.accountId);
  const hearers = changed.length > 0 ? await hearersOf(platform, changed) : null;
  await forEachAtOnce(looked, toldAtOnce, async ({ one, news }) => {
    if (performance.now() - began > turnMs / 2) return;
    if (hearers && keptOf(news) !== one.told) await tell(platform, one, news, hearers(one.accountId));
    await platform.presences.settle(one, keptOf(news));
  });
}

/**
 * Tells of every account that is seen otherwise than was told last: connected or gone, also with the node that held it, or with another status or custom status
 * (decisions 7, PRESENCE_UPDATE). One worker at a time does it; two at once, or one after another's crash, tell nothing twice. What comes and goes between two
 * looks is not told. Rejects while Redis or the database is away; what is due stays so.
 */
export async function announcePresences(platform: WorkerPlatform): Promise<void> {
  if (!(await platform.presences.takeTurn(turnMs))) return;
  const began = performance.now();
  while (performance.now() - began < turnMs / 2) {
    const due = await platform.presences.due(batchPresences);
    if (due.length > 0) await announceBatch(platform, due);
    if (due.length < batchPresences) return;
  }
}
