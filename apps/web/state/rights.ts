import { computePermissions, computeRank, hasPermission, type Permission } from '../../../lib/base/permissions.ts';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { channels, servers } from './servers.ts';
import { myId } from './session.ts';

/** Converts a server to the input of the shared permission functions, with the lowest role first. */
export const rulesOf = (server: Server): { _id: string; ownerId: string; roles: { id: string; permissions: number }[] } => ({
  _id: server.id,
  ownerId: server.ownerId,
  roles: server.roles.toReversed(),
});

const asMember = (server: Server): { userId: string; roles: string[] } => ({ userId: myId(), roles: server.myRoles });

/**
 * Returns the permission bits of the user in a server or in one of its channels. A thread uses its parent's overwrites. Returns 0 when the server is not
 * known.
 */
export function myRights(serverId: string | null, channel?: Channel): number {
  const server = servers.value.get(serverId ?? '');
  if (!server) return 0;
  const source = channel?.kind === 'thread' ? channels.value.get(channel.parentId ?? '') : channel;
  return computePermissions(rulesOf(server), asMember(server), channel ? (source?.overwrites ?? []) : undefined);
}

/**
 * Whether the user has a permission in a server or in one of its channels. The page does not offer actions without the permission. In a DM the user has the
 * permissions to view, send, attach files and react.
 */
export function may(permission: Permission, serverId: string | null, channel?: Channel): boolean {
  if (serverId === null) return ['View Channel', 'Send Messages', 'Attach Files', 'Add Reactions'].includes(permission);
  return hasPermission(myRights(serverId, channel), permission);
}

/**
 * Whether a member with these roles is below the user (docs/behavior/servers.md#role-hierarchy). Only then can the user kick or ban the member.
 */
export function isBelowMe(server: Server, userId: string, roles: readonly string[]): boolean {
  const rules = rulesOf(server);
  return computeRank(rules, asMember(server)) > computeRank(rules, { userId, roles });
}

/** The position of the user's highest role; infinite for the owner. */
export const myRank = (server: Server): number => computeRank(rulesOf(server), asMember(server));
