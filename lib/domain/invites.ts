import { createHmac } from 'node:crypto';
import { Refusal, refuse, refuseField } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { holds } from '../base/permissions.ts';
import type { Invite, InviteInput, InvitePreview, Server } from '../contract/server.ts';
import { type Inserted, insertInSlot } from '../store/insert.ts';
import type { InviteDoc } from '../store/models/moderation.ts';
import type { ServerDoc } from '../store/models/server.ts';
import type { EnqueuePlatform, Platform } from '../store/platform.ts';
import { type Actor, type InServer, inServer, loadServerNow, require, type ServerAccess } from './access.ts';
import { writeAudit } from './audit.ts';
import { joinServer } from './joining.ts';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/**
 * The code of the invite that a create makes: ten letters and digits, derived from the create's id, so that one taken up after a crash
 * makes no second.
 */
const codeOf = (key: Buffer, id: string): string =>
  [...createHmac('sha256', key).update(`invite:${id}`).digest().subarray(0, 10)].map((byte) => alphabet[byte % alphabet.length]).join('');

/** In a developer server every invite works once, and for an hour: those from before it became one too (spec, Server). */
const asInDeveloperServer = (now: number): object[] => [
  { uses: 0 },
  { createdAt: { $gt: new Date(now - limits.developerInviteMaxAgeSecs * 1000) } },
];

/**
 * Filters of the driver, whose operators are all ours: invites that still let someone into their server, and those that never will again.
 */
const usable = (now: number, { types }: ServerDoc) => ({
  $and: [
    { $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date(now) } }] },
    { $or: [{ maxUses: 0 }, { $expr: { $lt: ['$uses', '$maxUses'] } }] },
    ...(types.includes('developer') ? asInDeveloperServer(now) : []),
  ],
});
const dead = (now: number, server: ServerDoc) => ({ $nor: [usable(now, server)] });

const inviteOf = ({ _id, serverId, maxAgeSecs, maxUses, uses, expiresAt, createdAt }: InviteDoc): Invite => ({
  code: _id,
  serverId,
  maxAgeSecs,
  maxUses,
  uses,
  expiresAt: expiresAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});

/**
 * Who may make invites, and which: in a staff server members with Manage Server, in a developer server the owner and Administrators (spec,
 * Server).
 */
function invitesOf({ server, permissions }: InServer, input: InviteInput): { maxAgeSecs: number; maxUses: number } {
  const { maxAgeSecs = 86_400, maxUses = 0 } = input;
  if (server.types.includes('staff')) require(permissions, 'Manage Server');
  if (server.types.includes('developer')) {
    require(permissions, 'Administrator');
    const most = limits.developerInviteMaxAgeSecs;
    return { maxAgeSecs: maxAgeSecs <= 0 ? most : Math.min(maxAgeSecs, most), maxUses: 1 };
  }
  requireWithin('/maxAgeSecs', maxAgeSecs, limits.inviteMaxAgeSecs);
  requireWithin('/maxUses', maxUses, limits.inviteMaxUses);
  return { maxAgeSecs, maxUses };
}

/** Refuses a number that is not from 0 to `most` (400). */
function requireWithin(path: string, value: number, most: number): void {
  if (value < 0 || value > most) refuseField(path, `must be from 0 to ${most}`);
}

/**
 * Makes an invite; any member may, but for the rules of staff and developer servers, which clamp what is out of range. Refuses
 * `too_many_invites` at 1,000 live ones.
 */
export async function createInvite(platform: Platform, actor: Actor, serverId: string, input: InviteInput, newId: string): Promise<Invite> {
  const place = await inServer(platform, actor, serverId);
  const { maxAgeSecs, maxUses } = invitesOf(place, input);
  const now = platform.now();
  const fresh = {
    _id: codeOf(platform.config.APP_KEY, newId),
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
  if (inserted.end === 'full') {
    await platform.db.invites.collection.deleteMany({ serverId, ...dead(now, place.server) });
    inserted = await insert();
  }
  if (inserted.end === 'full') return refuse('too_many_invites', { limit: limits.invitesPerServer });
  const { _id: code } = inserted.doc;
  if (holds(place.permissions, 'Manage Server'))
    await writeAudit(platform, actor, { id: newId, serverId, action: 'invite_create', targetId: code });
  return inviteOf(inserted.doc);
}

/** A server's live invites, oldest first. Needs Manage Server. */
export async function listInvites(platform: Platform, actor: Actor, serverId: string): Promise<Invite[]> {
  const { server } = await inServer(platform, actor, serverId, 'Manage Server');
  const filter = { serverId, ...usable(platform.now(), server) };
  const found = await platform.db.invites.collection.find(filter).sort({ createdAt: 1, _id: 1 }).toArray();
  return (found as unknown as InviteDoc[]).map(inviteOf);
}

/** An invite that still lets someone in, with its server; 404 otherwise. */
async function usableInvite(platform: Platform, code: string): Promise<{ invite: InviteDoc; access: ServerAccess }> {
  const { invites } = platform.db;
  const found = await invites.findOne({ _id: code }, { serverId: 1 }).lean();
  const access = found && (await loadServerNow(platform, found.serverId));
  const filter = access && { _id: code as never, ...usable(platform.now(), access.server) };
  const invite = filter && ((await invites.collection.findOne(filter)) as unknown as InviteDoc | null);
  return access && invite ? { invite, access } : refuse('not_found', { what: 'invite' });
}

/** What anyone who holds the code may see; 404 for a used-up or expired one. */
export async function previewInvite(platform: Platform, code: string): Promise<InvitePreview> {
  const { invite, access } = await usableInvite(platform, code);
  const { _id: id, name, iconUrl, memberCount } = access.server;
  return { code, server: { id, name, iconUrl, memberCount }, expiresAt: invite.expiresAt?.toISOString() ?? null };
}

/** Deletes an invite. Needs Manage Server in its server; 404 for who is not in it. */
export async function deleteInvite(platform: Platform, actor: Actor, code: string): Promise<void> {
  const invite = (await platform.db.invites.findOne({ _id: code }).lean()) ?? refuse('not_found', { what: 'invite' });
  const { serverId } = invite;
  // Whoever is not in the server learns nothing of it, not even that the code is good.
  const access = await loadServerNow(platform, serverId);
  if (!(await access?.member(actor.id))) refuse('not_found', { what: 'invite' });
  await inServer(platform, actor, serverId, 'Manage Server');
  const { deletedCount } = await platform.db.invites.deleteOne({ _id: code });
  if (deletedCount === 0) refuse('not_found', { what: 'invite' });
  await writeAudit(platform, actor, { serverId, action: 'invite_delete', targetId: code });
}

/**
 * Joins the caller to the invite's server by the rules of `joinServer`; who is in already only gets the server, and uses nothing up. 404
 * comes first, for a used-up or expired invite.
 */
export async function joinByInvite(platform: EnqueuePlatform, actor: Actor, code: string): Promise<Server> {
  const { access } = await usableInvite(platform, code);
  return joinServer(platform, actor, access, (add) => useInvite(platform, code, access.server, add));
}

/**
 * Takes one use, then makes the membership; gives the use back when that made none. One conditional update a use: no race lets one more in.
 */
async function useInvite(platform: Platform, code: string, server: ServerDoc, add: () => Promise<boolean>): Promise<void> {
  const invites = platform.db.invites.collection;
  const { modifiedCount } = await invites.updateOne({ _id: code as never, ...usable(platform.now(), server) }, { $inc: { uses: 1 } });
  if (modifiedCount === 0) refuse('not_found', { what: 'invite' });
  const giveBack = () => invites.updateOne({ _id: code as never, uses: { $gt: 0 } }, { $inc: { uses: -1 } });
  try {
    if (!(await add())) await giveBack();
  } catch (error) {
    if (error instanceof Refusal) await giveBack();
    throw error;
  }
}
