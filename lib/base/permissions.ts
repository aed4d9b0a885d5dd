/** The permission bits, by the names of docs/behavior/servers.md#permissions. */
export const permissionBits = {
  'View Channel': 1 << 0,
  'Send Messages': 1 << 1,
  'Attach Files': 1 << 2,
  'Add Reactions': 1 << 3,
  'Mention Everyone': 1 << 4,
  'Manage Messages': 1 << 5,
  'Manage Channels': 1 << 6,
  'Manage Roles': 1 << 7,
  'Manage Server': 1 << 8,
  'Manage Webhooks': 1 << 9,
  'Kick Members': 1 << 10,
  'Ban Members': 1 << 11,
  Administrator: 1 << 12,
} as const;

/** The bits that decide who can view channels. */
export const viewingBits = permissionBits['View Channel'] | permissionBits.Administrator;

/** The name of a permission. */
export type Permission = keyof typeof permissionBits;

/** All bits set. */
const allPermissions = (1 << 13) - 1;

/** What `@everyone` of a new server may do: view, send, attach, react. */
export const everyoneDefault = 0b1111;

/** The parts of a server that permissions depend on. `roles` is ordered lowest first; `roles[0]` is `@everyone`, whose id is the server's. */
export interface ServerRules {
  _id: string;
  ownerId: string;
  roles: readonly { id: string; permissions: number }[];
}

/** The permissions that a channel allows or denies to one role or user. */
export interface Overwrite {
  id: string;
  allow: number;
  deny: number;
}

/** The roles of a member, without `@everyone`. */
export interface MemberRules {
  userId: string;
  roles: readonly string[];
}

/** The permission bits of each role by id, cached for each list of roles. The cache needs no invalidation, because a list is replaced and never changed. */
const bitsByRole = new WeakMap<ServerRules['roles'], ReadonlyMap<string, number>>();

function getRoleBits({ roles }: ServerRules): ReadonlyMap<string, number> {
  const cached = bitsByRole.get(roles);
  if (cached) return cached;
  const bits = new Map(roles.map((role) => [role.id, role.permissions]));
  bitsByRole.set(roles, bits);
  return bits;
}

/**
 * The permissions of `member` in `server`, or in a channel with `overwrites` (docs/behavior/servers.md#calculation). The API, the workers and the gateway
 * use this pure function. In a channel the result is 0 without View Channel. For a thread, pass the overwrites of its parent.
 */
export function computePermissions(server: ServerRules, member: MemberRules, overwrites?: readonly Overwrite[]): number {
  if (server.ownerId === member.userId) return allPermissions;
  let bits = server.roles[0]?.permissions ?? 0;
  const roleBits = getRoleBits(server);
  for (const id of member.roles) bits |= roleBits.get(id) ?? 0;
  if (bits & permissionBits.Administrator) return allPermissions;
  if (!overwrites) return bits;
  let roleAllow = 0;
  let roleDeny = 0;
  let memberOverwrite: Overwrite | undefined;
  for (const overwrite of overwrites) {
    if (overwrite.id === server._id) bits = (bits & ~overwrite.deny) | overwrite.allow;
    else if (overwrite.id === member.userId) memberOverwrite = overwrite;
    // If a process died while it deleted a role, members and channels may still have the id of that role. It is ignored.
    else if (member.roles.includes(overwrite.id) && roleBits.has(overwrite.id)) {
      roleAllow |= overwrite.allow;
      roleDeny |= overwrite.deny;
    }
  }
  bits = (bits & ~roleDeny) | roleAllow;
  if (memberOverwrite) bits = (bits & ~memberOverwrite.deny) | memberOverwrite.allow;
  return bits & permissionBits['View Channel'] ? bits : 0;
}

/** Whether `bits` contain `permission`. */
export const hasPermission = (bits: number, permission: Permission): boolean => (bits & permissionBits[permission]) !== 0;

/** The names of the bits that are set, in the order of docs/behavior/servers.md#permissions. */
export const toPermissionNames = (bits: number): Permission[] =>
  (Object.keys(permissionBits) as Permission[]).filter((name) => hasPermission(bits, name));

/** The position of the member's highest role: 0 for `@everyone` alone, infinite for the owner (docs/behavior/servers.md#role-hierarchy). */
export function computeRank(server: ServerRules, member: MemberRules): number {
  if (server.ownerId === member.userId) return Number.POSITIVE_INFINITY;
  return server.roles.findLastIndex((role, position) => position === 0 || member.roles.includes(role.id));
}
