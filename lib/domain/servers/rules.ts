import { toParts } from '../../base/parts.ts';
import { perTurn } from '../../base/per-turn.ts';
import type { Overwrite, ServerRules } from '../../base/permissions.ts';
import { idsPerQuery, readByIds } from '../../store/mongo/batched-reads.ts';
import { type Collections, type Database, withSharedFields } from '../../store/mongo/database.ts';
import { type ChannelDoc, toMemberKey } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { toChannel } from '../views/servers.ts';

/** A server to read, and the accounts whose memberships are wanted. `needsChannels`: whether the server, its channels and active threads are read, too. */
export interface WantedRules {
  serverId: string;
  accountIds: readonly string[];
  needsChannels: boolean;
}

/** What decides who may view the channels of a server, as it is stored. Payloads are JSON, as CHANNEL_CREATE has them. */
export interface StoredRules {
  /** null when the server is gone. */
  server: ServerRules | null;
  channels: { id: string; overwrites: readonly Overwrite[]; payload: Buffer }[];
  threads: { id: string; parentId: string; payload: Buffer }[];
  members: { userId: string; roles: readonly string[]; joinId: string }[];
}

/** How many documents with pending events one query reads at most. */
const pendingMax = 1_000;

/** Those of these servers with pending events in their members or channels. */
async function findPending(collection: Collections['members' | 'channels'], serverIds: readonly string[]): Promise<string[]> {
  const pending = new Set<string>();
  for (let rest = [...serverIds]; rest.length > 0; ) {
    const page = await withSharedFields<{ serverId: string }>(collection)
      .find({ serverId: { $in: rest }, outboxAt: { $exists: true } }, { projection: { serverId: 1 } })
      .limit(pendingMax)
      .toArray();
    for (const { serverId } of page) pending.add(serverId);
    rest = page.length === pendingMax ? rest.filter((id) => !pending.has(id)) : [];
  }
  return [...pending];
}

const pendingLoaders = new WeakMap<Database, (serverId: string) => Promise<boolean>>();

/** Creates a function that tells whether events of a server are pending in the database. */
const createPendingLoader = (db: Database): ((serverId: string) => Promise<boolean>) =>
  perTurn(async (asked) => {
    const serverIds = [...new Set(asked)];
    const [servers, ...others] = await Promise.all([
      db.servers.find({ _id: { $in: serverIds }, outboxAt: { $exists: true } }, { projection: { _id: 1 }, hint: '_id_' }).toArray(),
      findPending(db.members, serverIds),
      findPending(db.channels, serverIds),
    ]);
    const pending = new Set([...servers.map(({ _id }) => _id), ...others.flat()]);
    return asked.map((id) => pending.has(id));
  });

/**
 * Waits until all changes of a server that began before are relayed; false if they are not within 5 s. Servers that are asked for in one turn of the event loop
 * are looked up together. Rejects when a store does not answer.
 */
export function waitUntilRelayed({ db, serverChanges }: Platform, serverId: string): Promise<boolean> {
  const isPending = pendingLoaders.get(db) ?? createPendingLoader(db);
  pendingLoaders.set(db, isPending);
  return serverChanges.waitUntilRelayed(serverId, () => isPending(serverId));
}

/** Of how many servers one query reads the channels. */
const serversPerQuery = 1_000;

/** Adds these servers, their channels and active threads to `found`. Each document is reduced as it comes, so that only what is kept takes memory. */
async function addServers({ db }: Platform, ids: readonly string[], found: ReadonlyMap<string, StoredRules>): Promise<void> {
  const ofServers = { serverId: { $in: [...ids] } };
  const toPayload = (channel: ChannelDoc): Buffer => Buffer.from(JSON.stringify(toChannel(channel)));
  const projection = { ownerId: 1, 'roles.id': 1, 'roles.permissions': 1 };
  await Promise.all([
    ...toParts(ids, idsPerQuery).map((part) =>
      db.servers.find({ _id: { $in: part } }, { projection, hint: '_id_', batchSize: part.length }).forEach(({ _id, ownerId, roles }) => {
        const rules = found.get(_id);
        if (rules) rules.server = { _id, ownerId, roles };
      }),
    ),
    db.channels.find({ ...ofServers, position: { $gte: 0 } }).forEach((channel) => {
      const { _id: id, serverId, overwrites } = channel;
      found.get(serverId)?.channels.push({ id, overwrites, payload: toPayload(channel) });
    }),
    db.channels.find({ ...ofServers, archiveAt: { $exists: true } }).forEach((thread) => {
      const { _id: id, serverId, parentId } = thread;
      if (parentId !== null) found.get(serverId)?.threads.push({ id, parentId, payload: toPayload(thread) });
    }),
  ]);
}

/** Reads the rules of many servers, by server id, in ten queries for each 1,000 servers; the members are read together with those of other calls. */
export async function loadStoredRules(platform: Platform, wanted: readonly WantedRules[]): Promise<Map<string, StoredRules>> {
  const found = new Map<string, StoredRules>(
    wanted.map(({ serverId }) => [serverId, { server: null, channels: [], threads: [], members: [] }]),
  );
  const ids = wanted.flatMap(({ serverId, needsChannels }) => (needsChannels ? serverId : []));
  const memberKeys = wanted.flatMap(({ serverId, accountIds }) => accountIds.map((id) => toMemberKey(serverId, id)));
  const [members] = await Promise.all([
    readByIds(platform.db.members, memberKeys),
    ...toParts(ids, serversPerQuery).map((part) => addServers(platform, part, found)),
  ]);
  for (const { serverId, userId, roles, joinId = '' } of members) found.get(serverId)?.members.push({ userId, roles, joinId });
  return found;
}
