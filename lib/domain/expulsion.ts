import { refuse } from '../base/errors.ts';
import { rankOf } from '../base/permissions.ts';
import type { MemberDoc } from '../store/models/server.ts';
import type { EnqueuePlatform } from '../store/platform.ts';
import type { InServer } from './access.ts';
import { addPerson, removeMember } from './membership.ts';

/**
 * Refuses oneself (400), the owner and whoever stands as high as the caller (`role_hierarchy`). Who is not in the server stands below
 * everybody.
 */
export function requireBelow({ server, member }: InServer, userId: string, target: MemberDoc | null): void {
  if (userId === member.userId) refuse('invalid_request', { reason: 'you cannot remove yourself; leave instead' });
  if (target && rankOf(server, target) >= rankOf(server, member)) refuse('role_hierarchy');
}

/** How taking somebody out of a server ended. */
export type Expelled = 'out' | 'gone' | 'owner';

/**
 * Takes somebody out of a server: `out`, or `gone` for who was not in it. Whoever was handed the server at the same moment is in it again,
 * without roles, and it is `owner`: a server's owner is always in it. Before that `undo` takes back what would keep them out.
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
