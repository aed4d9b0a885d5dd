import { limits } from '../base/limits.ts';
import { bookkeeping, trusted } from '../store/database.ts';
import { settled } from '../store/models/outbox.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { publicUserOf } from './faces.ts';

/** A drain older than this was paused, and another may have taken over. In milliseconds. */
const drainLifeMs = 5_000;

/** The servers of an account and the accounts with which it shares a DM, of those used last. */
async function contactsOf({ db }: WorkerPlatform, accountId: string): Promise<{ servers: string[]; accounts: string[] }> {
  const [memberships, dms] = await Promise.all([
    db.members.find({ userId: accountId }, { _id: 0, serverId: 1 }).lean(),
    db.dms.find({ userIds: accountId }, { _id: 0, userIds: 1 }).sort({ activeId: -1 }).limit(limits.dmsListed).lean(),
  ]);
  return {
    servers: memberships.map(({ serverId }) => serverId),
    accounts: dms.flatMap(({ userIds }) => userIds.filter((other) => other !== accountId)),
  };
}

/**
 * Sends the USER_UPDATE in the outbox of an account to everyone who shares a server or a DM with it, and to its own sessions. The event shows the account as
 * it is now. Rejects while Redis or the database is away; the outbox stays.
 */
export async function drainAccount(platform: WorkerPlatform, accountId: string): Promise<void> {
  const began = performance.now();
  const account = await platform.db.accounts.findOne({ _id: accountId }).lean();
  const last = account?.ob?.at(-1);
  if (!account?.ob || !last) return;
  const { servers, accounts } = await contactsOf(platform, accountId);
  if (performance.now() - began > drainLifeMs) return;
  await platform.broadcast({ id: last.id, name: last.name, data: publicUserOf(account), servers, accounts: [...accounts, accountId] });
  const sent = settled(account.ob.map(({ id }) => id));
  await platform.db.accounts.collection.updateOne({ _id: accountId as never }, sent, bookkeeping);
}

/** How old an event is when the sweep takes it, in milliseconds, and how many accounts one sweep takes. */
const sweepAfterMs = 2_000;
const sweepAccounts = 100;

/** Accounts whose event has waited for more than 2 s, oldest first: their job was lost or is late. */
export async function overdueAccounts({ db, now }: WorkerPlatform): Promise<string[]> {
  const late = { obAt: trusted({ $lt: new Date(now() - sweepAfterMs) }) };
  const found = await db.accounts.find(late, { _id: 1 }).sort({ obAt: 1 }).limit(sweepAccounts).lean();
  return found.map(({ _id }) => _id);
}
