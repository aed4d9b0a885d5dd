import { refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { everyoneDefault } from '../../base/permissions.ts';
import { foldSearch } from '../../base/text.ts';
import type { Server, ServerInput, ServerPatch, ServerSummary, ServersQuery } from '../../contract/server.ts';
import { exists } from '../../store/mongo/database.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import { type ServerDoc, toMemberKey, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { ApiPlatform, EnqueuePlatform, Platform, WakePlatform } from '../../store/platform.ts';
import { diffFields, writeAudit } from '../access/audit.ts';
import { type Actor, requireServer } from '../access/checks.ts';
import { countCreation, countViewChange, perHour } from '../access/creation-rates.ts';
import { addMember, findServerIds } from '../access/memberships.ts';
import { newChannel } from '../channels/channels.ts';
import { addEvent, outboxHasRoom, requireOutboxRoom } from '../events/pending.ts';
import { newMember } from '../members/changes.ts';
import { writeMemberNames } from '../members/names.ts';
import { removeServer } from '../removals.ts';
import { loadCurrentServerView, loadServerView, toServerSummary } from '../views/servers.ts';

/**
 * Creates a server that the caller owns; people only. Refuses `server_creation_restricted` if only operators create servers, `rate_limited` if the caller
 * created too many (docs/behavior/requests.md#creation-limits), and as `createServerOf`.
 */
export async function createServer(platform: ApiPlatform, actor: Actor, input: ServerInput, newId: string): Promise<Server> {
  if (platform.config.SERVER_CREATION === 'operators') refuse('server_creation_restricted');
  await countCreation(platform, [perHour(`servers:${actor.id}`, { burst: limits.newServersBurst, count: limits.newServersPerHour })]);
  await createServerOf(platform, actor.id, input, newId);
  return loadCurrentServerView(platform, newId, actor.id);
}

/**
 * Creates a server of a person, with `@everyone` and a text channel `general`, or completes the one with this id. Refuses `too_many_servers`. The membership is
 * stored last: nobody can see the server before, so one that is incomplete because its process died is never shown. Returns false, and creates nothing, if
 * another server has `createdFor`.
 */
export async function createServerOf(
  platform: WakePlatform,
  ownerId: string,
  input: ServerInput,
  newId: string,
  createdFor?: string,
): Promise<boolean> {
  const { db } = platform;
  const now = new Date(platform.now());
  const server: ServerDoc = {
    _id: newId,
    name: input.name.trim(),
    iconUrl: null,
    ownerId,
    roles: [{ id: newId, name: '@everyone', color: null, hoist: false, permissions: everyoneDefault, botId: null }],
    rolesVersion: 0,
    invitesPaused: false,
    types: [],
    community: false,
    listed: false,
    search: { name: foldSearch(input.name.trim()) },
    nextPosition: 1,
    memberCount: 1,
    ...(createdFor === undefined ? {} : { createdFor }),
    createdAt: now,
  };
  const isCreated = await platform.accessVersions.runChange({ servers: [newId], members: [[newId, ownerId]] }, async () => {
    if (!(await insertNew(db.servers, server)) && createdFor !== undefined) return false;
    const general = newChannel({ _id: platform.ids.next(), serverId: newId, kind: 'text', name: 'general', position: 0, createdAt: now });
    await insertNew(db.channels, { ...general, slot: 0 });
    const member = newMember(platform, newId, ownerId, false);
    if ((await addMember(platform, member)) !== 'full') {
      await writeMemberNames(platform, member);
      return true;
    }
    await db.channels.deleteMany({ serverId: newId });
    await db.servers.deleteOne({ _id: newId });
    return refuse('too_many_servers', { limit: limits.serversPerPerson });
  });
  if (isCreated) platform.wake('relay-server', { serverId: newId });
  return isCreated;
}

/** A page of the caller's servers, oldest first, and the `after` of the next page, or null. A person is in at most 100 servers, a bot in any number. */
export async function listServers(
  platform: Platform,
  actor: Actor,
  { after = '', limit = limits.serversListed }: ServersQuery,
): Promise<{ items: ServerSummary[]; next: string | null }> {
  const found = await findServerIds(platform, actor.id, after, limit + 1);
  const ids = found.slice(0, limit);
  const keys = toMemberKeys(ids, [actor.id]);
  const [members, servers] = await Promise.all([
    platform.db.members.find(keys, { projection: { serverId: 1 } }).toArray(),
    platform.db.servers
      .find({ _id: { $in: ids } })
      .sort({ _id: 1 })
      .toArray(),
  ]);
  const joinedIds = new Set(members.map(({ serverId }) => serverId));
  const items = servers.filter(({ _id }) => joinedIds.has(_id)).map(toServerSummary);
  return { items, next: found.length > limit ? (ids.at(-1) ?? null) : null };
}

/** A server in full. */
export async function getServer(platform: Platform, actor: Actor, serverId: string): Promise<Server> {
  const { access, member } = await requireServer(platform, actor, serverId);
  return loadServerView(platform, access, member);
}

/**
 * Changes a server: `name` and `invitesPaused` with Manage Server, `ownerId` by the owner only, to a person who is in the server (400 otherwise). Missing
 * fields stay.
 */
export async function updateServer(platform: ApiPlatform, actor: Actor, serverId: string, patch: ServerPatch): Promise<Server> {
  const { access, server } = await requireServer(platform, actor, serverId, 'Manage Server');
  const { ownerId } = patch;
  const set = {
    ...(patch.name === undefined ? {} : { name: patch.name.trim() }),
    ...(patch.invitesPaused === undefined ? {} : { invitesPaused: patch.invitesPaused }),
    ...(ownerId === undefined ? {} : { ownerId }),
  };
  if (ownerId !== undefined) {
    if (server.ownerId !== actor.id) refuse('not_owner');
    const newOwner = await platform.db.members.findOne({ ...toMemberKey(serverId, ownerId), bot: false });
    if (!newOwner) refuseField('/ownerId', 'Choose a person who is in this server.');
  }
  if (Object.keys(diffFields(server, set)).length === 0) return loadCurrentServerView(platform, serverId, actor.id);
  if (ownerId !== undefined) await countViewChange(platform, actor, access);
  const before = await platform.accessVersions.runChange({ servers: [serverId] }, async () => {
    const condition = ownerId === undefined ? {} : { ownerId: actor.id };
    const { servers } = platform.db;
    const was = ownerId === undefined ? {} : { was: { owner: actor.id } };
    const searchFields = set.name === undefined ? {} : { 'search.name': foldSearch(set.name) };
    const pendingEvent = addEvent(platform, { name: 'SERVER_UPDATE', ...was });
    const previous = await servers.findOneAndUpdate(
      { _id: serverId, ...condition, ...outboxHasRoom },
      { $set: { ...set, ...searchFields }, ...pendingEvent },
      { returnDocument: 'before' },
    );
    if (!previous) {
      const current = await servers.findOne({ _id: serverId, ...condition });
      requireOutboxRoom(current?.outbox);
      return ownerId === undefined ? refuse('not_found', { what: 'server' }) : refuse('not_owner');
    }
    await revertIfNewOwnerLeft(platform, serverId, ownerId, actor.id);
    return previous;
  });
  platform.wake('relay-server', { serverId });
  await writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes: diffFields(before, set) });
  return loadCurrentServerView(platform, serverId, actor.id);
}

/** Refuses 400 and makes `ownerId` the owner again if the new owner left at the same moment: a server's owner must be in it. */
export async function revertIfNewOwnerLeft(
  platform: Platform,
  serverId: string,
  newOwnerId: string | undefined,
  ownerId: string,
): Promise<void> {
  if (newOwnerId === undefined || (await exists(platform.db.members, toMemberKey(serverId, newOwnerId)))) return;
  await platform.db.servers.updateOne({ _id: serverId, ownerId: newOwnerId }, { $set: { ownerId } }); // the relay is woken only after this
  refuseField('/ownerId', 'Choose a person who is in this server.');
}

/** Deletes a server with everything in it; owner only. From then on nobody can see any of it. A job deletes what is left. */
export async function deleteServer(platform: EnqueuePlatform, actor: Actor, serverId: string): Promise<void> {
  const { server } = await requireServer(platform, actor, serverId);
  if (server.ownerId !== actor.id) refuse('not_owner');
  if (!(await removeServer(platform, serverId, actor.id))) refuse('not_found', { what: 'server' });
}
