import type { DmDoc } from '../../store/mongo/models/dm.ts';
import type { Platform } from '../../store/platform.ts';
import { loadAccounts } from './public-profiles.ts';

/**
 * Whether two accounts are in a common server now, in one query: for each server of `fewer` it looks up the membership of `other`. Pass the account that is in
 * fewer servers as `fewer`: a person is in at most 100, a bot in any number.
 */
async function hasSharedServer({ db }: Platform, fewer: string, other: string): Promise<boolean> {
  const shared = await db.members
    .aggregate([
      { $match: { userId: fewer } },
      { $project: { otherMemberId: { $concat: ['$serverId', { $literal: `:${other}` }] } } },
      { $lookup: { from: 'members', localField: 'otherMemberId', foreignField: '_id', as: 'both' } },
      { $match: { 'both.0': { $exists: true } } },
      { $limit: 1 },
    ])
    .toArray();
  return shared.length > 0;
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
