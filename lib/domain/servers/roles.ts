import { refuse, refuseField, requireNoErrors } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { computePermissions, computeRank, viewingBits } from '../../base/permissions.ts';
import type { Role, RoleInput, RolePatch } from '../../contract/server.ts';
import type { ServerEvent } from '../../store/mongo/models/outbox.ts';
import { type MemberDoc, type RoleDoc, type ServerDoc, toMemberKey } from '../../store/mongo/models/server.ts';
import type { ApiPlatform, EnqueuePlatform, Platform } from '../../store/platform.ts';
import { type Changes, diffFields, writeAudit } from '../access/audit.ts';
import { type Actor, requireGrantable, requirePermissions, requireRolePosition, requireServer } from '../access/checks.ts';
import { countViewChange } from '../access/creation-rates.ts';
import { addEvent, outboxHasRoom, requireOutboxRoom } from '../events/pending.ts';
import { removeOverwrites } from '../members/changes.ts';
import { storeRoleRemoval } from '../removals.ts';
import { findShownRole, toRoles } from '../views/servers.ts';

/** The server as it is in the database, with the caller's membership, rank and permissions. Changes of roles are checked against it. */
interface RoleContext {
  server: ServerDoc;
  member: MemberDoc;
  /** The position of the caller's highest role; infinite for the owner. */
  rank: number;
  permissions: number;
}

async function loadRoleContext(platform: Platform, actor: Actor, serverId: string): Promise<RoleContext> {
  const { servers, members } = platform.db;
  const [server, member] = await Promise.all([servers.findOne({ _id: serverId }), members.findOne(toMemberKey(serverId, actor.id))]);
  if (!server || !member) return refuse('not_found', { what: 'server' });
  const permissions = computePermissions(server, member);
  requirePermissions(permissions, 'Manage Roles');
  return { server, member, rank: computeRank(server, member), permissions };
}

/**
 * The new roles of a server, what differs in the role that changes, and the positions at which other roles move. Nothing is written when `changes` is empty.
 */
interface RoleChange {
  roles: RoleDoc[];
  changes: Changes;
  shifted?: ServerEvent['shifted'];
}

/**
 * Replaces the roles of a server by what `change` returns, and puts the event into the server's outbox. The write applies only if the roles are still those
 * that `change` was given; otherwise `change` is called again with the new ones. So hierarchy and order hold under concurrent changes. Returns the server with
 * its new roles.
 */
async function changeRoles(
  platform: Platform,
  actor: Actor,
  serverId: string,
  name: 'ROLE_UPDATE' | 'ROLE_DELETE',
  roleId: string,
  change: (context: RoleContext) => RoleChange,
): Promise<{ server: ServerDoc; changes: Changes }> {
  for (;;) {
    const context = await loadRoleContext(platform, actor, serverId);
    const { roles, changes, shifted } = change(context);
    const server = { ...context.server, roles };
    const data = name === 'ROLE_DELETE' ? { roleId, role: findShownRole(context.server, roleId) } : { roleId };
    const event = { name, data, ...(shifted ? { shifted } : {}) };
    if (Object.keys(changes).length === 0) return { server, changes };
    const { modifiedCount } = await platform.db.servers.updateOne(
      { _id: serverId, rolesVersion: context.server.rolesVersion, ...outboxHasRoom },
      { $set: { roles }, $inc: { rolesVersion: 1 }, ...addEvent(platform, { ...event, ...getPreviousRole(context.server, roleId) }) },
    );
    if (modifiedCount === 1) return { server, changes };
    requireOutboxRoom(context.server.outbox);
  }
}

/** The permissions of a role before it is changed or deleted. */
const getPreviousRole = ({ roles }: ServerDoc, roleId: string): Pick<ServerEvent, 'was'> => {
  const role = roles.find(({ id }) => id === roleId);
  return role ? { was: { role: { id: roleId, permissions: role.permissions } } } : {};
};

const requireShownRole = (server: ServerDoc, roleId: string): Role =>
  findShownRole(server, roleId) ?? refuse('not_found', { what: 'role' });

/** A server's roles, highest first. */
export const listRoles = async (platform: Platform, actor: Actor, serverId: string): Promise<Role[]> =>
  toRoles((await requireServer(platform, actor, serverId)).server);

/** The position that a role gets if `position` is requested. For the owner it is limited to `highest`. Refuses `role_hierarchy` from `limit` on. */
function resolvePosition(position: number, highest: number, limit: number): number {
  const resolved = Math.min(position, limit === Number.POSITIVE_INFINITY ? highest : position);
  return resolved >= limit ? refuse('role_hierarchy') : resolved;
}

/**
 * Creates a role at position 1, or at `position`, below the caller's highest. Needs Manage Roles and every permission that the role gives. Refuses
 * `too_many_roles`: the cap is a condition of the one write.
 */
export async function createRole(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string,
  input: RoleInput,
  newId: string,
): Promise<Role> {
  await requireServer(platform, actor, serverId, 'Manage Roles');
  const role: RoleDoc = {
    id: newId,
    name: input.name.trim(),
    color: input.color?.toLowerCase() ?? null,
    hoist: input.hoist ?? false,
    permissions: input.permissions ?? 0,
    botId: null,
  };
  const server = await platform.accessVersions.runChange({ servers: [serverId] }, () =>
    insertRole(platform, actor, serverId, role, input.position),
  );
  platform.wake('relay-server', { serverId });
  const changes = { name: { from: null, to: role.name }, permissions: { from: null, to: role.permissions } };
  await writeAudit(platform, actor, { id: newId, serverId, action: 'role_create', targetId: newId, changes });
  return requireShownRole(server, newId);
}

async function insertRole(platform: Platform, actor: Actor, serverId: string, role: RoleDoc, requestedPosition = 1): Promise<ServerDoc> {
  for (;;) {
    const { server, rank, permissions } = await loadRoleContext(platform, actor, serverId);
    if (server.roles.some((one) => one.id === role.id)) return server;
    requireGrantable(permissions, role.permissions);
    const position = resolvePosition(requestedPosition, server.roles.length, rank + 1);
    if (rank === 0) refuse('role_hierarchy');
    if (server.roles.length > limits.rolesPerServer) refuse('too_many_roles', { limit: limits.rolesPerServer });
    // For position 1, concurrent changes of the roles do not matter. For any other, the order must still be the one that was checked.
    const unchangedFilter = position === 1 ? {} : { rolesVersion: server.rolesVersion };
    const pendingEvent = addEvent(platform, { name: 'ROLE_CREATE', data: { roleId: role.id }, shifted: { from: position } });
    const after = await platform.db.servers.findOneAndUpdate(
      { _id: serverId, ...unchangedFilter, ...outboxHasRoom, [`roles.${limits.rolesPerServer}`]: { $exists: false } },
      {
        $push: { roles: { $each: [role], $position: position }, ...pendingEvent.$push },
        $inc: { rolesVersion: 1 },
        $min: pendingEvent.$min,
      },
      { returnDocument: 'after' },
    );
    if (after) return after;
    requireOutboxRoom(server.outbox);
  }
}

/** How `patch` changes the role. Refuses what `updateRole` refuses of it. */
function planRoleChange({ server, rank, permissions }: RoleContext, roleId: string, patch: RolePatch): RoleChange {
  const { roles } = server;
  const from = requireRolePosition(server, roleId);
  const role = roles[from] as RoleDoc;
  const set: Partial<RoleDoc> = {
    ...(patch.name === undefined ? {} : { name: patch.name.trim() }),
    ...(patch.color === undefined ? {} : { color: patch.color?.toLowerCase() ?? null }),
    ...(patch.hoist === undefined ? {} : { hoist: patch.hoist }),
    ...(patch.permissions === undefined ? {} : { permissions: patch.permissions }),
  };
  const changes = diffFields(role, set);
  if (from === 0) requireEveryoneChange(patch, changes);
  else if (from >= rank) refuse('role_hierarchy');
  if (role.botId !== null && changes.name) refuseField('/name', 'A bot’s own role always has the name of the bot.');
  requireGrantable(permissions, role.permissions ^ (set.permissions ?? role.permissions));
  const to = from === 0 || patch.position === undefined ? from : resolvePosition(patch.position, roles.length - 1, rank);
  const moved = roles.toSpliced(from, 1).toSpliced(to, 0, { ...role, ...set });
  if (to === from) return { roles: moved, changes };
  const shifted = { from: Math.min(from, to), to: Math.max(from, to) };
  return { roles: moved, changes: { ...changes, position: { from, to } }, shifted };
}

/**
 * Changes a role below the caller's highest; missing fields stay. Needs Manage Roles and every permission that changes. For `@everyone` only the permissions
 * can change, and a bot's own role keeps its name. `position` moves the role there and shifts the others.
 */
export async function updateRole(platform: ApiPlatform, actor: Actor, serverId: string, roleId: string, patch: RolePatch): Promise<Role> {
  const { access, server: before, member, permissions } = await requireServer(platform, actor, serverId, 'Manage Roles');
  // What is refused is not counted, so that it does not use up the limit of the server.
  planRoleChange({ server: before, member, rank: computeRank(before, member), permissions }, roleId, patch);
  const { permissions: current } = before.roles[requireRolePosition(before, roleId)] as RoleDoc;
  if (((patch.permissions ?? current) ^ current) & viewingBits) await countViewChange(platform, actor, access);
  const { server, changes } = await platform.accessVersions.runChange({ servers: [serverId] }, () =>
    changeRoles(platform, actor, serverId, 'ROLE_UPDATE', roleId, (context) => planRoleChange(context, roleId, patch)),
  );
  if (Object.keys(changes).length > 0) {
    platform.wake('relay-server', { serverId });
    await writeAudit(platform, actor, { serverId, action: 'role_update', targetId: roleId, changes });
  }
  return requireShownRole(server, roleId);
}

/** Refuses changes of `@everyone` other than to its permissions. */
function requireEveryoneChange(patch: RolePatch, changes: Changes): void {
  const fields = [...Object.keys(changes).filter((name) => name !== 'permissions'), ...(patch.position === undefined ? [] : ['position'])];
  requireNoErrors(fields.map((field) => ({ path: `/${field}`, message: 'This cannot be changed for @everyone.' })));
}

/**
 * Deletes a role below the caller's highest; whoever had it loses it. Needs Manage Roles. Refuses 400 for `@everyone` and for the own role of a bot that is
 * in the server.
 */
export async function deleteRole(platform: ApiPlatform, actor: Actor, serverId: string, roleId: string): Promise<void> {
  const { server, access, member } = await requireServer(platform, actor, serverId, 'Manage Roles');
  const cachedPosition = requireRolePosition(server, roleId);
  const role = server.roles[cachedPosition] as RoleDoc;
  if (roleId === serverId) refuse('invalid_request', { reason: '@everyone cannot be deleted' });
  if (role.botId !== null && (await access.member(role.botId)))
    refuse('invalid_request', { reason: 'a bot’s own role cannot be deleted; it is removed when the bot leaves' });
  if (cachedPosition >= computeRank(server, member)) refuse('role_hierarchy');
  if (role.permissions & viewingBits) await countViewChange(platform, actor, access);
  const removedFields = { name: { from: role.name, to: null }, permissions: { from: role.permissions, to: null } };
  await storeRoleRemoval(platform, serverId, roleId);
  await platform.accessVersions.runChange({ servers: [serverId] }, async () => {
    await changeRoles(platform, actor, serverId, 'ROLE_DELETE', roleId, ({ server: current, rank }) => {
      const position = requireRolePosition(current, roleId);
      if (position >= rank) refuse('role_hierarchy');
      return { roles: current.roles.toSpliced(position, 1), changes: removedFields, shifted: { from: position } };
    });
    await removeOverwrites(platform, serverId, [roleId]);
  });
  platform.wake('relay-server', { serverId });
  await writeAudit(platform, actor, { serverId, action: 'role_delete', targetId: roleId, changes: removedFields });
}
