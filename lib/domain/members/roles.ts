import { refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { permissionsOf, rankOf } from '../../base/permissions.ts';
import type { Role, RoleInput, RolePatch } from '../../contract/server.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { MemberDoc, RoleDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { owes, requireRoom, withRoom } from '../events/pending-events.ts';
import { type Changes, changesOf, writeAudit } from '../servers/audit.ts';
import { intendRole } from '../servers/removals.ts';
import { rolesOf } from '../servers/server-view.ts';
import { type Actor, inServer, require, requireGrantable } from './access.ts';
import { forgetOverwrites } from './membership.ts';

/** The server as it is in the database, with the caller's membership, rank and permissions. Changes of roles are checked against it. */
interface Standing {
  server: ServerDoc;
  member: MemberDoc;
  /** The position of the caller's highest role; infinite for the owner. */
  rank: number;
  bits: number;
}

async function standingOf(platform: Platform, actor: Actor, serverId: string): Promise<Standing> {
  const { servers, members } = platform.db;
  const [server, member] = await Promise.all([
    servers.findOne({ _id: serverId }).lean(),
    members.findOne({ _id: `${serverId}:${actor.id}` }).lean(),
  ]);
  if (!server || !member) return refuse('not_found', { what: 'server' });
  const bits = permissionsOf(server, member);
  require(bits, 'Manage Roles');
  return { server, member, rank: rankOf(server, member), bits };
}

/**
 * The new roles of a server, what differs in the role that changes, and the positions at which other roles move. Nothing is written when `changes` is empty.
 */
interface Change {
  roles: RoleDoc[];
  changes: Changes;
  shifted?: OutboxEntry['shifted'];
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
  change: (standing: Standing) => Change,
): Promise<{ server: ServerDoc; changes: Changes }> {
  for (;;) {
    const standing = await standingOf(platform, actor, serverId);
    const { roles, changes, shifted } = change(standing);
    const server = { ...standing.server, roles };
    const told = { name, data: { roleId }, ...(shifted ? { shifted } : {}) };
    if (Object.keys(changes).length === 0) return { server, changes };
    const { modifiedCount } = await platform.db.servers.updateOne(
      { _id: serverId, rolesVersion: standing.server.rolesVersion, ...withRoom },
      { $set: { roles }, $inc: { rolesVersion: 1 }, ...owes(platform, { ...told, ...wasOf(standing.server, roleId) }) },
    );
    if (modifiedCount === 1) return { server, changes };
    requireRoom(standing.server.ob?.length ?? 0);
  }
}

/** The permissions of a role before it is changed or deleted. */
const wasOf = ({ roles }: ServerDoc, roleId: string): Pick<OutboxEntry, 'was'> => {
  const role = roles.find(({ id }) => id === roleId);
  return role ? { was: { role: { id: roleId, permissions: role.permissions } } } : {};
};

/** The position of `roleId`; 404 when the server has no such role. */
export function positionOf(server: ServerDoc, roleId: string): number {
  const position = server.roles.findIndex((role) => role.id === roleId);
  return position < 0 ? refuse('not_found', { what: 'role' }) : position;
}

const shown = (server: ServerDoc, roleId: string): Role =>
  rolesOf(server).find((role) => role.id === roleId) ?? refuse('not_found', { what: 'role' });

/** A server's roles, highest first. */
export const listRoles = async (platform: Platform, actor: Actor, serverId: string): Promise<Role[]> =>
  rolesOf((await inServer(platform, actor, serverId)).server);

/** The position that a role gets if `position` is requested. For the owner it is limited to `top`. Refuses `role_hierarchy` from `bound` on. */
function placeAt(position: number, top: number, bound: number): number {
  const place = Math.min(position, bound === Number.POSITIVE_INFINITY ? top : position);
  return place >= bound ? refuse('role_hierarchy') : place;
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
  await inServer(platform, actor, serverId, 'Manage Roles');
  const role: RoleDoc = {
    id: newId,
    name: input.name.trim(),
    color: input.color?.toLowerCase() ?? null,
    hoist: input.hoist ?? false,
    permissions: input.permissions ?? 0,
    botId: null,
  };
  const server = await platform.versions.changing({ servers: [serverId] }, () =>
    insertRole(platform, actor, serverId, role, input.position),
  );
  platform.nudge('relay-server', { serverId });
  const changes = { name: { from: null, to: role.name }, permissions: { from: null, to: role.permissions } };
  await writeAudit(platform, actor, { id: newId, serverId, action: 'role_create', targetId: newId, changes });
  return shown(server, newId);
}

async function insertRole(platform: Platform, actor: Actor, serverId: string, role: RoleDoc, wanted = 1): Promise<ServerDoc> {
  for (;;) {
    const { server, rank, bits } = await standingOf(platform, actor, serverId);
    if (server.roles.some((one) => one.id === role.id)) return server;
    requireGrantable(bits, role.permissions);
    const position = placeAt(wanted, server.roles.length, rank + 1);
    if (rank === 0) refuse('role_hierarchy');
    if (server.roles.length > limits.rolesPerServer) refuse('too_many_roles', { limit: limits.rolesPerServer });
    // For position 1, concurrent changes of the roles do not matter. For any other, the order must still be the one that was checked.
    const unchanged = position === 1 ? {} : { rolesVersion: server.rolesVersion };
    const told = owes(platform, { name: 'ROLE_CREATE', data: { roleId: role.id }, shifted: { from: position } });
    const after = await platform.db.servers
      .findOneAndUpdate(
        { _id: serverId, ...unchanged, ...withRoom, [`roles.${limits.rolesPerServer}`]: trusted({ $exists: false }) },
        { $push: { roles: { $each: [role], $position: position }, ...told.$push }, $inc: { rolesVersion: 1 }, $min: told.$min },
        { returnDocument: 'after' },
      )
      .lean();
    if (after) return after;
    requireRoom(server.ob?.length ?? 0);
  }
}

/**
 * Changes a role below the caller's highest; missing fields stay. Needs Manage Roles and every permission that changes. For `@everyone` only the permissions
 * can change, and a bot's own role keeps its name. `position` moves the role there and shifts the others.
 */
export async function updateRole(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string,
  roleId: string,
  patch: RolePatch,
): Promise<Role> {
  positionOf((await inServer(platform, actor, serverId, 'Manage Roles')).server, roleId);
  const set: Partial<RoleDoc> = {
    ...(patch.name === undefined ? {} : { name: patch.name.trim() }),
    ...(patch.color === undefined ? {} : { color: patch.color?.toLowerCase() ?? null }),
    ...(patch.hoist === undefined ? {} : { hoist: patch.hoist }),
    ...(patch.permissions === undefined ? {} : { permissions: patch.permissions }),
  };
  const { server, changes } = await platform.versions.changing({ servers: [serverId] }, () =>
    changeRoles(platform, actor, serverId, 'ROLE_UPDATE', roleId, (standing) => {
      const { rank, bits } = standing;
      const { roles } = standing.server;
      const from = positionOf(standing.server, roleId);
      const role = roles[from] as RoleDoc;
      const wanted = changesOf(role, set);
      if (from === 0) requireEveryoneField(patch, wanted);
      else if (from >= rank) refuse('role_hierarchy');
      if (role.botId !== null && wanted.name) refuseField('/name', 'is that of the bot which this role belongs to');
      requireGrantable(bits, role.permissions ^ (set.permissions ?? role.permissions));
      const to = from === 0 || patch.position === undefined ? from : placeAt(patch.position, roles.length - 1, rank);
      const moved = roles.toSpliced(from, 1).toSpliced(to, 0, { ...role, ...set });
      if (to === from) return { roles: moved, changes: wanted };
      const shifted = { from: Math.min(from, to), to: Math.max(from, to) };
      return { roles: moved, changes: { ...wanted, position: { from, to } }, shifted };
    }),
  );
  if (Object.keys(changes).length > 0) {
    platform.nudge('relay-server', { serverId });
    await writeAudit(platform, actor, { serverId, action: 'role_update', targetId: roleId, changes });
  }
  return shown(server, roleId);
}

/** Refuses changes of `@everyone` other than to its permissions. */
function requireEveryoneField(patch: RolePatch, changes: Changes): void {
  const field = Object.keys(changes).find((name) => name !== 'permissions') ?? (patch.position === undefined ? undefined : 'position');
  if (field !== undefined) refuseField(`/${field}`, 'cannot be changed of @everyone');
}

/**
 * Deletes a role below the caller's highest; whoever had it loses it. Needs Manage Roles. Refuses 400 for `@everyone` and for the own role of a bot that is
 * in the server.
 */
export async function deleteRole(platform: EnqueuePlatform, actor: Actor, serverId: string, roleId: string): Promise<void> {
  const { server, access, member } = await inServer(platform, actor, serverId, 'Manage Roles');
  const standing = positionOf(server, roleId);
  const role = server.roles[standing] as RoleDoc;
  if (roleId === serverId) refuse('invalid_request', { reason: '@everyone cannot be deleted' });
  if (role.botId !== null && (await access.member(role.botId)))
    refuse('invalid_request', { reason: 'a bot’s own role cannot be deleted; it is removed when the bot leaves' });
  if (standing >= rankOf(server, member)) refuse('role_hierarchy');
  const gone = { name: { from: role.name, to: null }, permissions: { from: role.permissions, to: null } };
  await intendRole(platform, serverId, roleId);
  await platform.versions.changing({ servers: [serverId] }, async () => {
    await changeRoles(platform, actor, serverId, 'ROLE_DELETE', roleId, ({ server: now, rank }) => {
      const position = positionOf(now, roleId);
      if (position >= rank) refuse('role_hierarchy');
      return { roles: now.roles.toSpliced(position, 1), changes: gone, shifted: { from: position } };
    });
    await forgetOverwrites(platform, serverId, [roleId]);
  });
  platform.nudge('relay-server', { serverId });
  await writeAudit(platform, actor, { serverId, action: 'role_delete', targetId: roleId, changes: gone });
}
