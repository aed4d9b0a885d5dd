import { holds, type Permission, permissionsOf, rankOf } from '../../../lib/base/permissions.ts';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { channels, details } from './servers.ts';
import { myId } from './session.ts';

/** A server's rules as the shared permission functions take them: roles lowest first. */
export const rulesOf = (server: Server): { _id: string; ownerId: string; roles: { id: string; permissions: number }[] } => ({
  _id: server.id,
  ownerId: server.ownerId,
  roles: server.roles.toReversed(),
});

const mine = (server: Server): { userId: string; roles: string[] } => ({ userId: myId(), roles: server.myRoles });

/** The permission bits that the person holds in a server, or in one of its channels; a thread has its parent's. 0 where the server is not known. */
export function myRights(serverId: string | null, channel?: Channel): number {
  const server = details.value.get(serverId ?? '');
  if (!server) return 0;
  const ruling = channel?.kind === 'thread' ? channels.value.get(channel.parentId ?? '') : channel;
  return permissionsOf(rulesOf(server), mine(server), channel ? (ruling?.overwrites ?? []) : undefined);
}

/** Whether the person may do something in a server, or in one of its channels: what they may not do is not offered. In a DM everything that is not a moderator's. */
export function may(permission: Permission, serverId: string | null, channel?: Channel): boolean {
  if (serverId === null) return ['View Channel', 'Send Messages', 'Attach Files', 'Add Reactions'].includes(permission);
  return holds(myRights(serverId, channel), permission);
}

/**
 * Whether a member with these roles is below the person (docs/behavior/servers.md#role-hierarchy). Only then can the person kick or ban the member, or
 * change the member's overwrites.
 */
export function isBelowMe(server: Server, userId: string, roles: readonly string[]): boolean {
  const rules = rulesOf(server);
  return rankOf(rules, mine(server)) > rankOf(rules, { userId, roles });
}

/** The position of the person's highest role; infinite for the owner. */
export const myRank = (server: Server): number => rankOf(rulesOf(server), mine(server));
