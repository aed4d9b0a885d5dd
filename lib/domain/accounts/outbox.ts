import { limits } from '../../base/limits.ts';
import { relaxedWriteConcern } from '../../store/mongo/database.ts';
import { removeEntries } from '../../store/mongo/models/outbox.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { findAllServerIds } from '../access/memberships.ts';
import type { OutboxSource, PendingBatch } from '../events/outboxes.ts';
import { toPublicUser } from '../views/accounts.ts';

/** The servers of an account, and the other participants of its most recently active DMs (at most `limits.dmsListed`). */
export async function findContacts(platform: WorkerPlatform, accountId: string): Promise<{ servers: string[]; accounts: string[] }> {
  const [servers, dms] = await Promise.all([
    findAllServerIds(platform, accountId),
    platform.db.dms
      .find({ userIds: accountId }, { projection: { _id: 0, userIds: 1 } })
      .sort({ activeId: -1 })
      .limit(limits.dmsListed)
      .toArray(),
  ]);
  return {
    servers,
    accounts: dms.flatMap(({ userIds }) => userIds.filter((other) => other !== accountId)),
  };
}

/**
 * Reads the pending event of an account: one USER_UPDATE with its current public profile, for everyone who shares a server or a DM with it and for its own
 * sessions.
 */
async function* read(platform: WorkerPlatform, accountId: string): AsyncGenerator<PendingBatch, void> {
  const account = await platform.db.accounts.findOne({ _id: accountId });
  const entries = account?.outbox ?? [];
  const lastEntry = entries.at(-1);
  if (!account || !lastEntry) return;
  const { servers, accounts } = await findContacts(platform, accountId);
  yield {
    events: [],
    broadcast: { id: lastEntry.id, name: 'USER_UPDATE', data: toPublicUser(account), servers, accounts: [...accounts, accountId] },
    acknowledge: (appended) =>
      platform.eventLog.acknowledge(appended, null, async () => {
        const removal = removeEntries(entries.map(({ id }) => id));
        await platform.db.accounts.updateOne({ _id: accountId }, removal, relaxedWriteConcern);
      }),
  };
}

/** The outboxes of accounts, which hold USER_UPDATE. */
export const accountOutbox: OutboxSource = { read, documents: [{ collection: 'accounts', keyField: '_id' }], sweepConcurrency: 8 };
