import { limits } from '../../base/limits.ts';
import type { EventData } from '../../contract/events.ts';
import { bookkeeping, trusted } from '../../store/mongo/database.ts';
import { settled } from '../../store/mongo/models/outbox.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import type { OutboxSource, PendingEvents } from '../events/outbox-source.ts';
import { publicUserOf } from './public-profiles.ts';

/** The servers of an account, and the other participants of its most recently active DMs (at most `limits.dmsListed`). */
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
 * Reads the pending event of an account: one USER_UPDATE with its current public profile, for everyone who shares a server or a DM with it and for its own
 * sessions.
 */
async function* read(platform: WorkerPlatform, accountId: string): AsyncGenerator<PendingEvents, void> {
  const account = await platform.db.accounts.findOne({ _id: accountId }).lean();
  const entries = account?.ob ?? [];
  const last = entries.at(-1);
  if (!account || !last) return;
  const { servers, accounts } = await contactsOf(platform, accountId);
  const data: EventData<'USER_UPDATE'> = publicUserOf(account);
  yield {
    events: [],
    broadcast: { id: last.id, name: 'USER_UPDATE', data, servers, accounts: [...accounts, accountId] },
    async acknowledge() {
      const relayed = settled(entries.map(({ id }) => id));
      await platform.db.accounts.collection.updateOne({ _id: accountId as never }, relayed, bookkeeping);
    },
  };
}

/** The most accounts that one sweep relays. */
const sweepAccounts = 100;

async function overdue({ db }: WorkerPlatform, $lt: Date): Promise<string[]> {
  const found = await db.accounts
    .find({ obAt: trusted({ $lt }) }, { _id: 1 })
    .sort({ obAt: 1 })
    .limit(sweepAccounts)
    .lean();
  return found.map(({ _id }) => _id);
}

/** The outboxes of accounts, which hold USER_UPDATE. */
export const accountOutbox: OutboxSource = { read, overdue, sweptAtOnce: 1 };
