import { limits } from '../base/limits.ts';
import { trusted } from '../store/database.ts';
import type { WorkerPlatform } from '../store/platform.ts';

/** How many DMs of a batch of accounts are looked at, those used last first: an account's list shows no more than a tenth of them. */
const batchDms = limits.dmsListed * 10;

/** Who hears of an account: who is in one of these servers, and these accounts, with whom it shares a DM. */
export interface AccountHearers {
  servers: string[];
  accounts: string[];
}

/** Who hears of each of these accounts (decisions 7). Two queries for all of them. */
export async function hearersOf({ db }: WorkerPlatform, accountIds: readonly string[]): Promise<(accountId: string) => AccountHearers> {
  const $in = [...accountIds];
  const [memberships, talks] = await Promise.all([
    db.members.find({ userId: trusted({ $in }) }, { _id: 0, userId: 1, serverId: 1 }).lean(),
    db.dms
      .find({ userIds: trusted({ $in }) }, { _id: 0, userIds: 1 })
      .sort({ activeId: -1 })
      .limit(batchDms)
      .lean(),
  ]);
  const hearers = new Map($in.map((id): [string, AccountHearers] => [id, { servers: [], accounts: [] }]));
  for (const { userId, serverId } of memberships) hearers.get(userId)?.servers.push(serverId);
  for (const { userIds } of talks) for (const id of userIds) hearers.get(id)?.accounts.push(...userIds.filter((other) => other !== id));
  return (accountId) => hearers.get(accountId) ?? { servers: [], accounts: [] };
}
