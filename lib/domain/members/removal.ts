import { refuse } from '../../base/errors.ts';
import { computeRank } from '../../base/permissions.ts';
import type { MemberDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import type { ServerContext } from '../access/checks.ts';
import { addPerson, removeMember } from './changes.ts';

/**
 * Refuses the caller's own account with 400, and the owner and members whose highest role is not below the caller's with `role_hierarchy`. An account that is
 * not a member is never refused for its role.
 */
export function requireLowerRank({ server, member }: ServerContext, userId: string, target: MemberDoc | null): void {
  if (userId === member.userId) refuse('invalid_request', { reason: 'you cannot remove yourself; leave the server instead' });
  if (target && computeRank(server, target) >= computeRank(server, member)) refuse('role_hierarchy');
}

/** The result of removing an account from a server: it was removed (`removed`), was not a member (`not-member`), or is the owner and stays (`owner`). */
export type RemovalOutcome = 'removed' | 'not-member' | 'owner';

/**
 * Removes an account from a server. If the account became the owner concurrently, it is added again without roles, because the owner is always a member. Before
 * that, `revert` undoes what would keep it out, such as a ban.
 */
export async function removeUnlessOwner(
  platform: EnqueuePlatform,
  serverId: string,
  userId: string,
  revert: () => Promise<unknown> = () => Promise.resolve(),
): Promise<RemovalOutcome> {
  if (!(await removeMember(platform, serverId, userId))) return 'not-member';
  const server = await platform.db.servers.findOne({ _id: serverId }, { projection: { ownerId: 1 } });
  if (server?.ownerId !== userId) return 'removed';
  await revert();
  await addPerson(platform, serverId, userId);
  return 'owner';
}
