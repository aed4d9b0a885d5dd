import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { isName } from '../../base/text.ts';
import { exists } from '../../store/mongo/database.ts';
import { toMemberKey } from '../../store/mongo/models/server.ts';
import type { Platform, WakePlatform } from '../../store/platform.ts';
import { writeAudit } from '../access/audit.ts';
import { createActor } from '../access/credentials.ts';
import { findServerIds } from '../access/memberships.ts';
import { requirePersonAccount } from '../accounts/suspensions.ts';
import { addEvent, outboxHasRoom } from '../events/pending.ts';
import { restartRetention } from '../jobs/retention-sweep.ts';
import { removeServer } from '../removals.ts';
import { createServerOf, revertIfNewOwnerLeft } from '../servers/servers.ts';
import { ensureSystemAccount } from '../system-account.ts';

/** A server that an operator changed or created, and whether that changed anything. */
export interface OperatedServer {
  id: string;
  name: string;
  isChanged: boolean;
}

/** A person who can own a server; refuses as `requirePersonAccount`, and a suspended person with 400. */
async function requireOwner(platform: Platform, userId: string): Promise<void> {
  if ((await requirePersonAccount(platform, userId)).suspendedAt !== undefined)
    refuse('invalid_request', { reason: 'this account is suspended' });
}

/**
 * Creates a server of a person. If the person already owns a server of this name, returns that one unchanged, so that the command can be repeated. A unique
 * index decides, so concurrent commands create one server.
 */
export async function createServerAsOperator(platform: WakePlatform, name: string, ownerId: string): Promise<OperatedServer> {
  const trimmed = name.trim();
  if (!isName(trimmed) || trimmed.length > limits.nameChars)
    refuse('invalid_request', { reason: `a name is one line of 1 to ${limits.nameChars} characters that are not all invisible` });
  await requireOwner(platform, ownerId);
  const ids = await findServerIds(platform, ownerId, '', limits.serversPerPerson);
  const owned = await platform.db.servers.findOne({ _id: { $in: ids }, ownerId, name: trimmed });
  if (owned && (await exists(platform.db.members, toMemberKey(owned._id, ownerId))))
    return { id: owned._id, name: trimmed, isChanged: false };
  const createdFor = `${ownerId}:${trimmed}`;
  for (;;) {
    const id = platform.ids.next();
    if (await createServerOf(platform, ownerId, { name: trimmed }, id, createdFor)) return { id, name: trimmed, isChanged: true };
    const existing = await platform.db.servers.findOne({ createdFor });
    if (existing?.ownerId === ownerId && existing.name === trimmed) {
      // Completes one whose process died; nothing happens if another process is completing it.
      await createServerOf(platform, ownerId, { name: trimmed }, existing._id);
      return { id: existing._id, name: trimmed, isChanged: false };
    }
    // It has another owner or name by now, so it is not the server of this command any more.
    const isOther = { $or: [{ ownerId: { $ne: ownerId } }, { name: { $ne: trimmed } }] };
    await platform.db.servers.updateOne({ createdFor, ...isOther }, { $unset: { createdFor: 1 } });
  }
}

/**
 * Makes a person who is in the server its owner. The actor in the server's audit log is the system account. Refuses 404 for an unknown server or account, and
 * 400 for somebody who is not in the server or is suspended.
 */
export async function transferServer(platform: WakePlatform, serverId: string, userId: string): Promise<OperatedServer> {
  const { servers, members } = platform.db;
  const { name, ownerId } = (await servers.findOne({ _id: serverId })) ?? refuse('not_found', { what: 'server' });
  await requireOwner(platform, userId);
  if (ownerId === userId) return { id: serverId, name, isChanged: false };
  if (!(await exists(members, { ...toMemberKey(serverId, userId), bot: false })))
    refuse('invalid_request', { reason: 'the new owner must be in the server' });
  await platform.accessVersions.runChange({ servers: [serverId] }, async () => {
    const event = addEvent(platform, { name: 'SERVER_UPDATE', was: { owner: ownerId } });
    const update = { $set: { ownerId: userId }, ...event };
    const { matchedCount } = await servers.updateOne({ _id: serverId, ownerId, ...outboxHasRoom }, update);
    if (matchedCount === 0) refuse('unavailable'); // the owner changed meanwhile, or the outbox is full
    await revertIfNewOwnerLeft(platform, serverId, userId, ownerId);
  });
  platform.wake('relay-server', { serverId });
  const actor = createActor(platform, await ensureSystemAccount(platform), new Map());
  const changes = { ownerId: { from: ownerId, to: userId } };
  await writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes });
  return { id: serverId, name, isChanged: true };
}

/**
 * Sets after how many days the messages of a server are deleted; 0: never; null: as MESSAGE_RETENTION_DAYS says. The workers begin at once. The actor in the
 * server's audit log is the system account. Refuses 404 for an unknown server.
 */
export async function setMessageRetention(platform: Platform, serverId: string, days: number | null): Promise<OperatedServer> {
  const { servers } = platform.db;
  const changedFilter = { _id: serverId, messageRetentionDays: days === null ? { $exists: true } : { $ne: days } };
  const update = days === null ? { $unset: { messageRetentionDays: 1 } as const } : { $set: { messageRetentionDays: days } };
  const before = await platform.accessVersions.runChange({ servers: [serverId] }, () =>
    servers.findOneAndUpdate(changedFilter, update, { returnDocument: 'before' }),
  );
  const server = before ?? (await servers.findOne({ _id: serverId })) ?? refuse('not_found', { what: 'server' });
  await restartRetention(platform);
  if (before) {
    const actor = createActor(platform, await ensureSystemAccount(platform), new Map());
    const changes = { messageRetentionDays: { from: before.messageRetentionDays ?? null, to: days } };
    await writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes });
  }
  return { id: serverId, name: server.name, isChanged: before !== null };
}

/** Deletes a server with everything in it. It is hidden at once; the workers delete what is left. Refuses 404 for an unknown server. */
export async function deleteServerAsOperator(platform: WakePlatform, serverId: string): Promise<OperatedServer> {
  const { name, ownerId } = (await platform.db.servers.findOne({ _id: serverId })) ?? refuse('not_found', { what: 'server' });
  if (!(await removeServer(platform, serverId, ownerId))) refuse('unavailable'); // the owner changed meanwhile
  return { id: serverId, name, isChanged: true };
}
