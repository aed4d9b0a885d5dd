import { createHmac } from 'node:crypto';
import { Refusal, refuse, refuseField } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { holds } from '../base/permissions.ts';
import type { Invite, InviteInput, InvitePreview, Server } from '../contract/server.ts';
import { type Inserted, insertInSlot } from '../store/insert.ts';
import type { InviteDoc } from '../store/models/server.ts';
import type { Platform } from '../store/platform.ts';
import { type Actor, type InServer, inServer, loadServerNow, require } from './access.ts';
import { writeAudit } from './audit.ts';
import { joinServer } from './joining.ts';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** The code of the invite that a create makes: ten letters and digits, derived from the create's id, so that one taken up after a crash makes no second. */
const codeOf = (key: Buffer, id: string): string =>
  [...createHmac('sha256', key).update(`invite:${id}`).digest().subarray(0, 10)].map((byte) => alphabet[byte % alphabet.length]).join('');

/** Filters of the driver, whose operators are all ours: invites that still let someone in, and those that never will again. */
const usable = (now: Date) => ({
  $and: [{ $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] }, { $or: [{ maxUses: 0 }, { $expr: { $lt: ['$uses', '$maxUses'] } }] }],
});
const dead = (now: Date) => ({ $nor: [usable(now)] });

const inviteOf = ({ _id, serverId, maxAgeSecs, maxUses, uses, expiresAt, createdAt }: InviteDoc): Invite => ({
  code: _id,
  serverId,
  maxAgeSecs,
  maxUses,
  uses,
  expiresAt: expiresAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});

/** Who may make invites, and which: in a staff server members with Manage Server, in a developer server the owner and Administrators (spec, Server). */
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

/** Makes an invite; any member may, but for the rules of staff and developer servers, which clamp what is out of range. Refuses `too_many_invites` at 1,000 live ones. */
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
    await platform.db.invites.collection.deleteMany({ serverId, ...dead(new Date(now)) });
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
  await inServer(platform, actor, serverId, 'Manage Server');
  const filter = { serverId, ...usable(new Date(platform.now())) };
  const found = await platform.db.invites.collection.find(filter).sort({ createdAt: 1, _id: 1 }).toArray();
  return (found as unknown as InviteDoc[]).map(inviteOf);
}

async function usableInvite(platform: Platform, code: string): Promise<InviteDoc> {
  const filter = { _id: code as never, ...usable(new Date(platform.now())) };
  return ((await platform.db.invites.collection.findOne(filter)) as unknown as InviteDoc | null) ?? refuse('not_found', { what: 'invite' });
}

/** What anyone who holds the code may see; 404 for a used-up or expired one. */
export async function previewInvite(platform: Platform, code: string): Promise<InvitePreview> {
  const { serverId, expiresAt } = await usableInvite(platform, code);
  const server = await platform.db.servers.findOne({ _id: serverId }).lean();
  if (!server) return refuse('not_found', { what: 'invite' });
  const { name, iconUrl, memberCount } = server;
  return { code, server: { id: serverId, name, iconUrl, memberCount }, expiresAt: expiresAt?.toISOString() ?? null };
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
 * Joins the caller to the invite's server by the rules of `joinServer`; who is in already only gets the server, and uses nothing up. 404 comes first, for a
 * used-up or expired invite.
 */
export async function joinByInvite(platform: Platform, actor: Actor, code: string): Promise<Server> {
  const { serverId } = await usableInvite(platform, code);
  const access = (await loadServerNow(platform, serverId)) ?? refuse('not_found', { what: 'invite' });
  return joinServer(platform, actor, access, (add) => useInvite(platform, code, add));
}

/** Takes one use, then makes the membership; gives the use back when that made none. One conditional update a use: no race lets one more in. */
async function useInvite(platform: Platform, code: string, add: () => Promise<boolean>): Promise<void> {
  const invites = platform.db.invites.collection;
  const now = new Date(platform.now());
  const { modifiedCount } = await invites.updateOne({ _id: code as never, ...usable(now) }, { $inc: { uses: 1 } });
  if (modifiedCount === 0) refuse('not_found', { what: 'invite' });
  const giveBack = () => invites.updateOne({ _id: code as never, uses: { $gt: 0 } }, { $inc: { uses: -1 } });
  try {
    if (!(await add())) await giveBack();
  } catch (error) {
    if (error instanceof Refusal) await giveBack();
    throw error;
  }
}
