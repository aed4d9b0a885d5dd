import { refuse, refuseField } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { computePermissions } from '../../base/permissions.ts';
import type { AuthorizeInput, BotAuthorization } from '../../contract/application.ts';
import { exists } from '../../store/mongo/database.ts';
import type { ApplicationDoc } from '../../store/mongo/models/account.ts';
import type { ServerEvent } from '../../store/mongo/models/outbox.ts';
import { type RoleDoc, type ServerDoc, toMemberKey } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { writeAudit } from '../access/audit.ts';
import { type Actor, loadCurrentServerAccess, requirePermissions } from '../access/checks.ts';
import { addMember } from '../access/memberships.ts';
import { changeServerCounts } from '../counts/bot-servers.ts';
import { addEvent } from '../events/pending.ts';
import { finishJoin, newMember, removeMember } from '../members/changes.ts';

/**
 * Returns the server that a bot is to be added to, and the caller's permissions in it. A server that the caller is not in is refused with 400 instead of 404,
 * because the id comes from the body.
 */
async function requireTargetServer(
  platform: Platform,
  actor: Actor,
  application: ApplicationDoc,
  serverId: string,
): Promise<{ server: ServerDoc; callerPermissions: number }> {
  const access = await loadCurrentServerAccess(platform, serverId);
  const member = access && (await access.member(actor.id));
  if (!access || !member) return refuseField('/serverId', 'Choose a server that you are in.');
  const callerPermissions = computePermissions(access.server, member);
  requirePermissions(callerPermissions, 'Manage Server');
  if (!application.public && application.ownerId !== actor.id) refuse('not_owner');
  if (access.server.types.includes('developer') && access.server.ownerId !== actor.id) refuse('not_owner');
  return { server: access.server, callerPermissions };
}

/** The update operators that add an event about a bot's own role to a server's outbox. They need no limit, because a bot is rarely added or renamed. */
const addRoleEvent = (platform: Platform, name: 'ROLE_CREATE' | 'ROLE_UPDATE', roleId: string, was?: ServerEvent['was']) =>
  addEvent(platform, { name, data: { roleId }, ...(name === 'ROLE_CREATE' ? { shifted: { from: 1 } } : {}), ...(was ? { was } : {}) });

/**
 * Returns the bot's own role in the server, and creates it if there is none. One conditional write decides, so a bot has one own role even if it is added twice
 * at once.
 */
async function ensureBotRole(platform: Platform, serverId: string, role: RoleDoc & { botId: string }): Promise<RoleDoc> {
  const { servers } = platform.db;
  for (;;) {
    const { $push, $min } = addRoleEvent(platform, 'ROLE_CREATE', role.id);
    const { modifiedCount } = await servers.updateOne(
      { _id: serverId, 'roles.botId': { $ne: role.botId }, [`roles.${limits.rolesPerServer}`]: { $exists: false } },
      { $push: { roles: { $each: [role], $position: 1 }, ...$push }, $inc: { rolesVersion: 1 }, $min },
    );
    if (modifiedCount === 1) return role;
    const server = await servers.findOne({ _id: serverId });
    if (!server) return refuseField('/serverId', 'Choose a server that you are in.');
    const existingRole = server.roles.find((one) => one.botId === role.botId);
    if (existingRole) return reuseRole(platform, serverId, { ...role, id: existingRole.id }, existingRole.permissions);
    if (server.roles.length > limits.rolesPerServer) return refuse('too_many_roles', { limit: limits.rolesPerServer });
  }
}

/** Reuses a role of the bot that an interrupted leave or authorize left behind. It gets the name and the permissions that are granted now. */
async function reuseRole(platform: Platform, serverId: string, role: RoleDoc, previousPermissions: number): Promise<RoleDoc> {
  await platform.db.servers.updateOne(
    { _id: serverId, 'roles.id': role.id },
    {
      $set: { 'roles.$.permissions': role.permissions, 'roles.$.name': role.name },
      $inc: { rolesVersion: 1 },
      ...addRoleEvent(platform, 'ROLE_UPDATE', role.id, { role: { id: role.id, permissions: previousPermissions } }),
    },
  );
  return role;
}

/**
 * Checks the bot again after it was added. If its application was deleted concurrently, the bot leaves the server and the call is refused with 404. If it was
 * renamed concurrently, its own role gets the new name.
 */
async function recheckBot(platform: EnqueuePlatform, serverId: string, { id, botId, name }: RoleDoc & { botId: string }): Promise<void> {
  const bot = await platform.db.accounts.findOne({ _id: botId });
  if (!bot) {
    await removeMember(platform, serverId, botId);
    return refuse('not_found', { what: 'application' });
  }
  if (bot.username === name) return;
  await platform.db.servers.updateOne(
    { _id: serverId, 'roles.botId': botId },
    { $set: { 'roles.$.name': bot.username }, $inc: { rolesVersion: 1 }, ...addRoleEvent(platform, 'ROLE_UPDATE', id) },
  );
}

/** Gives a bot its own role, which an interrupted authorize did not. */
async function giveOwnRole(platform: Platform, serverId: string, botId: string, roleId: string): Promise<void> {
  const { $push, $min } = addEvent(platform, { name: 'MEMBER_UPDATE', was: { given: { roleId, has: true } } });
  const key = toMemberKey(serverId, botId);
  await platform.db.members.updateOne({ ...key, roles: { $ne: roleId } }, { $push: { roles: roleId, ...$push }, $min });
}

/** The result of authorizing a bot. `isAdded` tells whether this call added it. */
export interface AuthorizeResult {
  isAdded: boolean;
  authorized: BotAuthorization;
}

/**
 * Adds an application's bot to a server that the caller manages (docs/behavior/servers.md#bots). The bot gets a role of its own at position 1, with those of
 * the requested permissions that the caller has. A bot that is already in the server is not changed. Refuses with `missing_permission` without Manage Server,
 * with `not_owner` if the caller does not own a bot that is not public or a developer server, with `banned` and with `too_many_roles`.
 */
export async function authorizeBot(
  platform: EnqueuePlatform,
  actor: Actor,
  applicationId: string,
  input: AuthorizeInput,
  newId: string,
): Promise<AuthorizeResult> {
  const { db } = platform;
  const application = isId(applicationId) ? await db.applications.findOne({ _id: applicationId }) : null;
  if (!application) return refuse('not_found', { what: 'application' });
  const { serverId } = input;
  const { botId, name } = application;
  const { server, callerPermissions } = await requireTargetServer(platform, actor, application, serverId);
  const permissions = (input.permissions ?? 0) & callerPermissions;
  const key = toMemberKey(serverId, botId);
  if (await exists(db.bans, key)) refuse('banned');
  const toAuthorized = (role: RoleDoc) => ({ applicationId, serverId, roleId: role.id, permissions: role.permissions });
  const existingRole = server.roles.find((role) => role.botId === botId);
  const existingMember = await db.members.findOne(key);
  if (existingRole && existingMember?.roles.includes(existingRole.id))
    return { isAdded: existingRole.id === newId, authorized: toAuthorized(existingRole) };
  const role = { id: newId, name, color: null, hoist: false, permissions, botId };
  const [grantedRole, isAdded] = await platform.accessVersions.runChange(
    { servers: [serverId], members: [[serverId, botId]] },
    async () => {
      const botRole = await ensureBotRole(platform, serverId, role);
      await changeServerCounts(platform, [botId], 0);
      const member = { ...newMember(platform, serverId, botId, true), roles: [botRole.id] };
      const isJoined = (await addMember(platform, member)) === 'added';
      if (isJoined) await finishJoin(platform, member, 'server');
      else await giveOwnRole(platform, serverId, botId, botRole.id);
      await recheckBot(platform, serverId, { ...role, id: botRole.id });
      return [botRole, isJoined] as const;
    },
  );
  platform.wake('relay-server', { serverId });
  if (isAdded) {
    const changes = { permissions: { from: null, to: grantedRole.permissions } };
    await writeAudit(platform, actor, { id: newId, serverId, action: 'bot_add', targetId: botId, changes });
  }
  return { isAdded, authorized: toAuthorized(grantedRole) };
}
