import { refuse } from '../../base/errors.ts';
import { rankOf } from '../../base/permissions.ts';
import type { MemberDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import type { InServer } from './access.ts';
import { addPerson, removeMember } from './membership.ts';

/**
 * Refuses the caller's own account with 400, and the owner and members whose highest role is not below the caller's with `role_hierarchy`. An account that is
 * not a member is never refused for its role.
 */
export function requireBelow({ server, member }: InServer, userId: string, target: MemberDoc | null): void {
  if (userId === member.userId) refuse('invalid_request', { reason: 'you cannot remove yourself; leave instead' });
  if (target && rankOf(server, target) >= rankOf(server, member)) refuse('role_hierarchy');
}

/** The result of removing an account from a server: it was removed (`out`), was not a member (`gone`), or is the owner and stays (`owner`). */
export type Expelled = 'out' | 'gone' | 'owner';

/**
 * Removes an account from a server. If the account became the owner concurrently, it is added again without roles, because the owner is always a member. Before
 * that, `undo` reverts what would keep it out.
 */
export async function expel(
  platform: EnqueuePlatform,
  serverId: string,
  userId: string,
  undo: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Expelled> {
  if (!(await removeMember(platform, serverId, userId))) return 'gone';
  const left = await platform.db.servers.findOne({ _id: serverId }, { ownerId: 1 }).lean();
  if (left?.ownerId !== userId) return 'out';
  await undo();
  await platform.versions.changing({ members: [[serverId, userId]] }, () => addPerson(platform, serverId, userId));
  return 'owner';
}
