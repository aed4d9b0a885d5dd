import { refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { everyoneDefault } from '../../base/permissions.ts';
import { folded } from '../../base/text.ts';
import type { Server, ServerInput, ServerPage, ServerPatch, ServerSummary } from '../../contract/server.ts';
import { trusted } from '../../store/mongo/database.ts';
import { insertInSlot, insertNew } from '../../store/mongo/insert.ts';
import type { MemberDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { newChannel } from '../channels/channels.ts';
import { owes, requireRoom, withRoom } from '../events/pending-events.ts';
import { type Actor, inServer, loadServerNow } from '../members/access.ts';
import { nameMember } from '../members/member-names.ts';
import { newMember } from '../members/membership.ts';
import { changesOf, writeAudit } from './audit.ts';
import { removeServer } from './removals.ts';
import { serverOf, summaryOf } from './server-view.ts';

/** The server as `userId` sees it now; its access version is read again. 404 when it is gone or the account is not in it. */
export async function serverNow(platform: Platform, serverId: string, userId: string): Promise<Server> {
  const access = await loadServerNow(platform, serverId);
  const member = access && (await access.member(userId));
  return access && member ? serverOf(platform, access, member) : refuse('not_found', { what: 'server' });
}

/**
 * Creates a server that the caller owns, with `@everyone` and a text channel `general`; people only. Refuses `too_many_servers`. The membership is stored last:
 * nobody can see the server before, so one that is incomplete because its process died is never shown.
 */
export async function createServer(platform: EnqueuePlatform, actor: Actor, input: ServerInput, newId: string): Promise<Server> {
  const { db } = platform;
  const now = new Date(platform.now());
  const member: MemberDoc = await newMember(platform, newId, actor.id, false);
  const server: ServerDoc = {
    _id: newId,
    name: input.name.trim(),
    iconUrl: null,
    ownerId: actor.id,
    roles: [{ id: newId, name: '@everyone', color: null, hoist: false, permissions: everyoneDefault, botId: null }],
    rolesVersion: 0,
    invitesPaused: false,
    types: [],
    community: false,
    listed: false,
    search: { name: folded(input.name.trim()) },
    nextPosition: 1,
    memberCount: 1,
    createdAt: now,
  };
  await platform.versions.changing({ servers: [newId], members: [[newId, actor.id]] }, async () => {
    await insertNew(db.servers, server);
    const general = newChannel({ _id: platform.ids.next(), serverId: newId, kind: 'text', name: 'general', position: 0, createdAt: now });
    await insertNew(db.channels, { ...general, slot: 0 });
    const { end } = await insertInSlot(db.members, { userId: actor.id }, limits.serversPerPerson, member);
    if (end !== 'full') return nameMember(platform, member);
    await db.channels.deleteMany({ serverId: newId });
    await db.servers.deleteOne({ _id: newId });
    refuse('too_many_servers', { limit: limits.serversPerPerson });
  });
  platform.nudge('relay-server', { serverId: newId });
  return serverNow(platform, newId, actor.id);
}

/** A page of the caller's servers, oldest first, and the `after` of the next page, or null. A person is in at most 100 servers, a bot in any number. */
export async function listServers(
  platform: Platform,
  actor: Actor,
  { after = '', limit = limits.serversListed }: ServerPage,
): Promise<{ items: ServerSummary[]; next: string | null }> {
  const places = await platform.db.members
    .find({ userId: actor.id, serverId: trusted({ $gt: after }) }, { serverId: 1 })
    .sort({ userId: 1, serverId: 1 })
    .limit(limit + 1)
    .lean();
  const ids = places.slice(0, limit).map((place) => place.serverId);
  const servers = await platform.db.servers
    .find({ _id: trusted({ $in: ids }) })
    .sort({ _id: 1 })
    .lean();
  return { items: servers.map(summaryOf), next: places.length > limit ? (ids.at(-1) ?? null) : null };
}

/** A server in full. */
export async function getServer(platform: Platform, actor: Actor, serverId: string): Promise<Server> {
  const { access, member } = await inServer(platform, actor, serverId);
  return serverOf(platform, access, member);
}

/**
 * Changes a server: `name` and `invitesPaused` with Manage Server, `ownerId` by the owner only, to a person who is in the server (400 otherwise). Missing
 * fields stay.
 */
export async function updateServer(platform: EnqueuePlatform, actor: Actor, serverId: string, patch: ServerPatch): Promise<Server> {
  const { server } = await inServer(platform, actor, serverId, 'Manage Server');
  const { ownerId } = patch;
  const set = {
    ...(patch.name === undefined ? {} : { name: patch.name.trim() }),
    ...(patch.invitesPaused === undefined ? {} : { invitesPaused: patch.invitesPaused }),
    ...(ownerId === undefined ? {} : { ownerId }),
  };
  if (ownerId !== undefined) {
    if (server.ownerId !== actor.id) refuse('not_owner');
    const heir = await platform.db.members.findOne({ _id: `${serverId}:${ownerId}`, bot: false }).lean();
    if (!heir) refuseField('/ownerId', 'is not a person in this server');
  }
  if (Object.keys(changesOf(server, set)).length === 0) return serverNow(platform, serverId, actor.id);
  const before = await platform.versions.changing({ servers: [serverId] }, async () => {
    const held = ownerId === undefined ? {} : { ownerId: actor.id };
    const { servers } = platform.db;
    const was = ownerId === undefined ? {} : { was: { owner: actor.id } };
    const searched = set.name === undefined ? {} : { 'search.name': folded(set.name) };
    const owed = owes(platform, { name: 'SERVER_UPDATE', ...was });
    const found = await servers
      .findOneAndUpdate({ _id: serverId, ...held, ...withRoom }, { $set: { ...set, ...searched }, ...owed }, { returnDocument: 'before' })
      .lean();
    if (!found) {
      const standing = await servers.findOne({ _id: serverId, ...held }).lean();
      requireRoom(standing?.ob?.length ?? 0);
      return ownerId === undefined ? refuse('not_found', { what: 'server' }) : refuse('not_owner');
    }
    await returnIfGone(platform, serverId, ownerId, actor.id);
    return found;
  });
  platform.nudge('relay-server', { serverId });
  await writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes: changesOf(before, set) });
  return serverNow(platform, serverId, actor.id);
}

/** Refuses 400 and makes `ownerId` the owner again if the new owner left at the same moment: a server's owner must be in it. */
async function returnIfGone(platform: Platform, serverId: string, heirId: string | undefined, ownerId: string): Promise<void> {
  if (heirId === undefined || (await platform.db.members.exists({ _id: `${serverId}:${heirId}` }))) return;
  await platform.db.servers.updateOne({ _id: serverId, ownerId: heirId }, { $set: { ownerId } }); // the relay is woken only after this
  refuseField('/ownerId', 'is not a person in this server');
}

/** Deletes a server with everything in it; owner only. From then on nobody can see any of it. A job deletes what is left. */
export async function deleteServer(platform: EnqueuePlatform, actor: Actor, serverId: string): Promise<void> {
  const { server } = await inServer(platform, actor, serverId);
  if (server.ownerId !== actor.id) refuse('not_owner');
  if (!(await removeServer(platform, serverId, actor.id))) refuse('not_found', { what: 'server' });
}
