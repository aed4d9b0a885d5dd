import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type FieldError, Refusal, refuse, requireNoErrors } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { hasPermission } from '../../base/permissions.ts';
import type { Invite, InviteInput, InvitePreview } from '../../contract/member.ts';
import type { Server } from '../../contract/server.ts';
import { exists } from '../../store/mongo/database.ts';
import { type Inserted, insertInSlot } from '../../store/mongo/insert.ts';
import type { InviteDoc } from '../../store/mongo/models/moderation.ts';
import { type ServerDoc, toMemberKey } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { writeAudit } from '../access/audit.ts';
import {
  type Actor,
  loadCurrentServerAccess,
  loadOwnMember,
  requirePermissions,
  requireServer,
  type ServerAccess,
  type ServerContext,
} from '../access/checks.ts';
import { joinServer } from './joining.ts';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/**
 * The code of an invite: ten letters and digits, derived from the id of the create request, so that a request repeated after a crash makes no second invite.
 */
const deriveCode = (key: Buffer, id: string): string =>
  [...createHmac('sha256', key).update(`invite:${id}`).digest().subarray(0, 10)].map((byte) => alphabet[byte % alphabet.length]).join('');

/**
 * In a developer server every invite works once and for an hour, even if it was created before the server became one (docs/behavior/servers.md#invite-rules).
 */
const developerServerFilters = (now: number): object[] => [
  { uses: 0 },
  { createdAt: { $gt: new Date(now - limits.developerInviteMaxAgeSecs * 1000) } },
];

/**
 * Filters for the driver; none of their operators comes from outside. `usableFilter` matches invites that still admit someone; `unusableFilter` matches those
 * that never will again.
 */
const usableFilter = (now: number, { types }: ServerDoc) => ({
  $and: [
    { $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date(now) } }] },
    { $or: [{ maxUses: 0 }, { $expr: { $lt: ['$uses', '$maxUses'] } }] },
    ...(types.includes('developer') ? developerServerFilters(now) : []),
  ],
});
const unusableFilter = (now: number, server: ServerDoc) => ({ $nor: [usableFilter(now, server)] });

const toInvite = ({ _id, serverId, maxAgeSecs, maxUses, uses, expiresAt, createdAt }: InviteDoc): Invite => ({
  code: _id,
  serverId,
  maxAgeSecs,
  maxUses,
  uses,
  expiresAt: expiresAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});

/**
 * Checks that the caller may create invites, and returns the limits of the invite (docs/behavior/servers.md#invite-rules). In a staff server only members with
 * Manage Server may, in a developer server only the owner and Administrators.
 */
function resolveInviteLimits({ server, permissions }: ServerContext, input: InviteInput): { maxAgeSecs: number; maxUses: number } {
  const { maxAgeSecs = 86_400, maxUses = 0 } = input;
  if (server.types.includes('staff')) requirePermissions(permissions, 'Manage Server');
  if (server.types.includes('developer')) {
    requirePermissions(permissions, 'Administrator');
    const maxAge = limits.developerInviteMaxAgeSecs;
    return { maxAgeSecs: maxAgeSecs <= 0 ? maxAge : Math.min(maxAgeSecs, maxAge), maxUses: 1 };
  }
  requireNoErrors([
    ...findRangeError('/maxAgeSecs', maxAgeSecs, limits.inviteMaxAgeSecs),
    ...findRangeError('/maxUses', maxUses, limits.inviteMaxUses),
  ]);
  return { maxAgeSecs, maxUses };
}

/** An error if `value` is not from 0 to `max`. */
const findRangeError = (path: string, value: number, max: number): FieldError[] =>
  value < 0 || value > max ? [{ path, message: `Use a number from 0 to ${max}.` }] : [];

/**
 * Creates an invite. Any member may, except in staff and developer servers. Refuses a value out of range with 400, but a developer server adjusts it instead.
 * Refuses with `too_many_invites` if the server has 1,000 usable invites.
 */
export async function createInvite(platform: Platform, actor: Actor, serverId: string, input: InviteInput, newId: string): Promise<Invite> {
  const context = await requireServer(platform, actor, serverId);
  const { maxAgeSecs, maxUses } = resolveInviteLimits(context, input);
  const now = platform.now();
  const fresh = {
    _id: deriveCode(platform.config.APP_KEY, newId),
    serverId,
    creatorId: actor.id,
    maxAgeSecs,
    maxUses,
    uses: 0,
    expiresAt: maxAgeSecs === 0 ? null : new Date(now + maxAgeSecs * 1000),
    createdAt: new Date(now),
  };
  const insert = (): Promise<Inserted<InviteDoc>> => insertInSlot(platform.db.invites, { serverId }, limits.invitesPerServer, fresh);
  let inserted = await insert();
  if (inserted.outcome === 'full') {
    await platform.db.invites.deleteMany({ serverId, ...unusableFilter(now, context.server) });
    inserted = await insert();
  }
  if (inserted.outcome === 'full') return refuse('too_many_invites', { limit: limits.invitesPerServer });
  const { _id: code } = inserted.doc;
  if (hasPermission(context.permissions, 'Manage Server'))
    await writeAudit(platform, actor, { id: newId, serverId, action: 'invite_create', targetId: code });
  return toInvite(inserted.doc);
}

/** A server's usable invites, oldest first. Needs Manage Server. */
export async function listInvites(platform: Platform, actor: Actor, serverId: string): Promise<Invite[]> {
  const { server } = await requireServer(platform, actor, serverId, 'Manage Server');
  const filter = { serverId, ...usableFilter(platform.now(), server) };
  const found = await platform.db.invites.find(filter, { hint: 'serverId_1_slot_1' }).sort({ createdAt: 1, _id: 1 }).toArray();
  return found.map(toInvite);
}

/** The server of an invite; 404 if there is no such invite or server. */
async function loadInviteServer(platform: Platform, code: string): Promise<ServerAccess> {
  const found = await platform.db.invites.findOne({ _id: code }, { projection: { serverId: 1 } });
  const access = found && (await loadCurrentServerAccess(platform, found.serverId));
  return access ?? refuse('not_found', { what: 'invite' });
}

/** An invite that still admits someone, or that `joiner` already holds a use of; 404 otherwise. */
async function requireUsableInvite(
  platform: Platform,
  code: string,
  { server }: Pick<ServerAccess, 'server'>,
  joiner?: string,
): Promise<InviteDoc> {
  const usableNow = usableFilter(platform.now(), server);
  const filter = { _id: code, ...(joiner === undefined ? usableNow : { $or: [usableNow, { 'joining.userId': joiner }] }) };
  const invite = await platform.db.invites.findOne(filter);
  return invite ?? refuse('not_found', { what: 'invite' });
}

/** The preview of an invite, for anyone who has the code. 404 for a used-up or expired invite. */
export async function previewInvite(platform: Platform, code: string): Promise<InvitePreview> {
  const access = await loadInviteServer(platform, code);
  const invite = await requireUsableInvite(platform, code, access);
  const { _id: id, name, iconUrl } = access.server;
  // Joins and leaves do not change the version of the cached server, so the count is read from the database.
  const { memberCount = 0 } = (await platform.db.servers.findOne({ _id: id }, { projection: { memberCount: 1 } })) ?? {};
  return { code, server: { id, name, iconUrl, memberCount }, expiresAt: invite.expiresAt?.toISOString() ?? null };
}

/** Refuses a code with which nobody can join now: `not_found` for an unknown, used-up or expired invite, `invites_paused`. Takes no use. */
export async function requireAdmittingInvite(platform: Platform, code: string): Promise<void> {
  const access = await loadInviteServer(platform, code);
  await requireUsableInvite(platform, code, access);
  if (access.server.invitesPaused) refuse('invites_paused');
}

/** Deletes an invite. Needs Manage Server in its server; 404 for a caller who is not a member. */
export async function deleteInvite(platform: Platform, actor: Actor, code: string): Promise<void> {
  const invite = (await platform.db.invites.findOne({ _id: code })) ?? refuse('not_found', { what: 'invite' });
  const { serverId } = invite;
  // A caller who is not in the server must not learn that the code exists.
  const access = await loadCurrentServerAccess(platform, serverId);
  if (!(access && (await loadOwnMember(platform, actor, access.server._id)))) refuse('not_found', { what: 'invite' });
  await requireServer(platform, actor, serverId, 'Manage Server');
  const { deletedCount } = await platform.db.invites.deleteOne({ _id: code });
  if (deletedCount === 0) refuse('not_found', { what: 'invite' });
  await writeAudit(platform, actor, { serverId, action: 'invite_delete', targetId: code });
}

/**
 * Joins the caller to the invite's server by the rules of `joinServer`. A caller who is already a member gets the server even if the invite is used up, and
 * consumes no use. For others a used-up or expired invite is 404, before any other check.
 */
export async function joinByInvite(platform: EnqueuePlatform, actor: Actor, code: string): Promise<Server> {
  const access = await loadInviteServer(platform, code);
  if (!(await loadOwnMember(platform, actor, access.server._id))) await requireUsableInvite(platform, code, access, actor.id);
  return joinServer(platform, actor, access, (add) => consumeInvite(platform, { code, userId: actor.id, server: access.server }, add));
}

/** How often a request checks whether another request of the same person has joined, and after how long it gives up, in milliseconds. */
const pollIntervalMs = 20;
const maxWaitMs = 5_000;
/** After how long the same person may take over the use of a request that died, in milliseconds. */
const abandonedMs = 10_000;

/** A person who joins by an invite. */
interface InviteUse {
  code: string;
  userId: string;
  server: ServerDoc;
}

/**
 * Takes a use of the invite for a person, if one is left and the person holds none. One conditional update decides, so concurrent requests cannot exceed the
 * limit. Otherwise takes over the use that a dead request of the same person left. False if neither was possible.
 */
async function acquireUse(platform: Platform, { code, userId, server }: InviteUse, at: Date): Promise<boolean> {
  const invites = platform.db.invites;
  const acquired = await invites.updateOne(
    { _id: code, ...usableFilter(at.getTime(), server), 'joining.userId': { $ne: userId } },
    { $inc: { uses: 1 }, $push: { joining: { $each: [{ userId, at }], $slice: -limits.inviteMaxUses } } },
  );
  if (acquired.modifiedCount > 0) return true;
  const abandoned = { $elemMatch: { userId, at: { $lt: new Date(at.getTime() - abandonedMs) } } };
  const reassigned = await invites.updateOne({ _id: code, joining: abandoned }, { $set: { 'joining.$.at': at } });
  return reassigned.modifiedCount > 0;
}

/**
 * Takes a use, then calls `add` to create the membership; gives the use back if `add` created none. A person holds at most one use at any time: their other
 * requests wait until the first is done, so that they take no use from others. 404 if no use is left.
 */
async function consumeInvite(platform: Platform, use: InviteUse, add: () => Promise<boolean>): Promise<void> {
  const { code, userId, server } = use;
  const deadline = platform.now() + maxWaitMs;
  let at = new Date(platform.now());
  while (!(await acquireUse(platform, use, at))) {
    const invite = await platform.db.invites.findOne({ _id: code });
    if (!invite?.joining?.some((one) => one.userId === userId)) {
      if (await exists(platform.db.members, toMemberKey(server._id, userId))) return;
      await requireUsableInvite(platform, code, { server }, userId);
    }
    if (platform.now() > deadline) refuse('unavailable');
    await pause(pollIntervalMs);
    at = new Date(platform.now());
  }
  const releaseUse = (isUsed: boolean): Promise<unknown> =>
    platform.db.invites.updateOne(
      { _id: code, joining: { $elemMatch: { userId, at } } },
      { $pull: { joining: { userId } }, ...(isUsed ? {} : { $inc: { uses: -1 } }) },
    );
  try {
    await releaseUse(await add());
  } catch (error) {
    if (error instanceof Refusal) await releaseUse(false);
    throw error;
  }
}
