import { permissionBits } from './generated/permissions.ts';
import type { Channel, Server } from './generated/types.ts';

/** The name of a permission, as the API writes it. */
export type PermissionName = keyof typeof permissionBits;

const allBits = Object.values(permissionBits).reduce((all, bit) => all | bit, 0);

/** The number that stands for these permissions. */
export const toPermissionBits = (names: Iterable<PermissionName>): number =>
  [...names].reduce((bits, name) => bits | permissionBits[name], 0);

/** The names of the permissions in `bits`. */
export const toPermissionNames = (bits: number): PermissionName[] =>
  (Object.keys(permissionBits) as PermissionName[]).filter((name) => (bits & permissionBits[name]) !== 0);

/** Whether `bits` include all of these permissions. An Administrator has every permission. */
export function hasPermissions(bits: number, ...names: PermissionName[]): boolean {
  if ((bits & permissionBits.Administrator) !== 0) return true;
  const wanted = toPermissionBits(names);
  return (bits & wanted) === wanted;
}

/**
 * The permission bits of a member in a server, or in a channel of it. For a thread, pass the channel that it belongs to. `roles` are the ids of the member's
 * roles; for the bot itself `server.myRoles`. In a channel that the member cannot view, the result is 0.
 */
export function computePermissions(
  server: Pick<Server, 'id' | 'ownerId' | 'roles'>,
  member: { id: string; roles: readonly string[] },
  channel?: Pick<Channel, 'overwrites'>,
): number {
  if (member.id === server.ownerId) return allBits;
  const ids = new Set([server.id, ...member.roles]); // the id of @everyone is the server's
  let bits = server.roles.filter(({ id }) => ids.has(id)).reduce((all, { permissions }) => all | permissions, 0);
  if ((bits & permissionBits.Administrator) !== 0) return allBits;
  if (!channel) return bits;
  const known = new Set(server.roles.map(({ id }) => id));
  const apply = (isMeant: (id: string) => boolean): void => {
    const meant = channel.overwrites.filter(({ id }) => isMeant(id));
    const [allow, deny] = [meant.reduce((all, one) => all | one.allow, 0), meant.reduce((all, one) => all | one.deny, 0)];
    bits = (bits & ~deny) | allow;
  };
  apply((id) => id === server.id);
  apply((id) => id !== server.id && id !== member.id && known.has(id) && ids.has(id));
  apply((id) => id === member.id);
  return (bits & permissionBits['View Channel']) !== 0 ? bits : 0;
}
