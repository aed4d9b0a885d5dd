import type { DmDoc } from '../../store/mongo/models/dm.ts';
import { toMemberKeys } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { findAllServerIds } from '../access/memberships.ts';
import { loadAccounts } from '../views/accounts.ts';

/**
 * Whether two accounts are in a common server now, in two queries: the servers of `fewer`, then the members that both are there. Pass the account that is in
 * fewer servers as `fewer`: a person is in at most 100, a bot in any number.
 */
async function hasSharedServer(platform: Platform, fewer: string, other: string): Promise<boolean> {
  const serverIds = await findAllServerIds(platform, fewer);
  const keys = toMemberKeys(serverIds, [fewer, other]);
  const members = await platform.db.members.find(keys, { projection: { _id: 0, serverId: 1 } }).toArray();
  return new Set(members.map(({ serverId }) => serverId)).size < members.length;
}

/**
 * Whether both participants of a DM are in a common server now, which posting in it needs (docs/behavior/accounts.md#direct-messages). Always false for a
 * deleted account, even while a job still removes it from its servers.
 */
export async function haveSharedServer(
  platform: Platform,
  { userIds: [one, other], bots }: Pick<DmDoc, 'userIds' | 'bots'>,
): Promise<boolean> {
  const [accounts, shared] = await Promise.all([
    loadAccounts(platform, [one, other]),
    bots.includes(one) ? hasSharedServer(platform, other, one) : hasSharedServer(platform, one, other),
  ]);
  return shared && accounts.size === 2;
}
