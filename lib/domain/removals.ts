import { failpoint } from '../base/failpoint.ts';
import { communityChannelFields } from '../contract/community.ts';
import { isBackupRunning } from '../store/mongo/backup-lease.ts';
import { exists } from '../store/mongo/database.ts';
import { insertNew } from '../store/mongo/insert.ts';
import type { ApplicationDoc } from '../store/mongo/models/account.ts';
import type { RemovalDoc, RemovalInServer } from '../store/mongo/models/removal.ts';
import type { ChannelDoc, ServerDoc } from '../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform, WakePlatform } from '../store/platform.ts';
import { loadOverwrites, type ServerAccess } from './access/checks.ts';
import { deleteMembershipsOfServer } from './access/memberships.ts';
import { changeServerCounts } from './counts/bot-servers.ts';
import { addEvent, addEventToEach } from './events/pending.ts';

/** How long after a deletion the sweep checks whether its job is running, in milliseconds. */
const sweepAfterMs = 2_000;
/** When the sweep looks again at a removal that is kept for a backup, in milliseconds. */
const keptForMs = 30_000;

/** Stores a removal before anything is deleted, so that it is completed whichever process dies after this. */
async function storeRemoval<T extends Omit<RemovalDoc, 'at' | 'nextAt'>>(platform: Platform, removal: T): Promise<T & RemovalDoc> {
  const now = platform.now();
  const full = { ...removal, at: new Date(now), nextAt: new Date(now + sweepAfterMs) };
  await platform.db.removals.replaceOne({ _id: removal._id }, full, { upsert: true });
  failpoint(platform.config, 'after-removal-intent');
  return full;
}

/** Clears a deleted channel from the Community settings of its server (docs/behavior/community.md#community-channels). */
export async function clearChosenChannel({ db }: Platform, serverId: string, channelId: string): Promise<void> {
  for (const field of communityChannelFields)
    await db.servers.updateOne({ _id: serverId, [field]: channelId }, { $set: { [field]: null } });
}

/**
 * Deletes a channel's document, which hides it and its threads at once, and moves the channels of a category out of it. The event is added to the server's
 * outbox first; the relay deletes the channel if the process dies in between. Returns false when the channel was deleted already. A repeated call completes an
 * earlier one. Call it inside the change of the server.
 */
async function deleteChannel(platform: EnqueuePlatform, _id: string, serverId: string): Promise<boolean> {
  const { channels, servers } = platform.db;
  const channel = await channels.findOne({ _id, serverId });
  if (channel) {
    const viewedAs = channel.kind === 'thread' ? channel.parentId : _id;
    const pending = channel.outbox ? { channel } : {};
    const data = { channelId: _id, viewedAs, overwrites: channel.overwrites, ...pending };
    await servers.updateOne({ _id: serverId }, addEvent(platform, { name: 'CHANNEL_DELETE', data }));
  }
  const { deletedCount } = await channels.deleteOne({ _id, serverId });
  await clearChosenChannel(platform, serverId, _id);
  const pendingEvent = addEventToEach(platform, { name: 'CHANNEL_UPDATE' });
  const inCategory = { serverId, parentId: _id, position: { $gte: 0 } };
  await channels.updateMany(inCategory, [{ $set: { parentId: null, ...pendingEvent } }]);
  return deletedCount === 1;
}

/** Completes the deletion of a channel. */
export async function deleteChannelDoc(platform: EnqueuePlatform, { _id, serverId }: RemovalInServer): Promise<void> {
  await platform.accessVersions.runChange({ servers: [serverId] }, () => deleteChannel(platform, _id, serverId));
  platform.wake('relay-server', { serverId });
}

/**
 * Removes a channel or thread; false when it was deleted already. From then on nobody can see it or its threads. The job `finish-removal` deletes what is left
 * of it.
 */
export async function removeChannel(platform: EnqueuePlatform, access: ServerAccess, channel: ChannelDoc): Promise<boolean> {
  const { _id, serverId } = channel;
  const overwrites = [...(await loadOverwrites(access, channel))];
  const isDeleted = await platform.accessVersions.runChange({ servers: [serverId] }, async () => {
    await storeRemoval(platform, { _id, kind: 'channel', serverId, ownerId: null, overwrites });
    return deleteChannel(platform, _id, serverId);
  });
  platform.wake('relay-server', { serverId });
  platform.jobs.tryEnqueue('finish-removal', { removalId: _id });
  return isDeleted;
}

/**
 * Stores the removal of a role before the role is deleted. Its members keep its id without effect for as long as sessions can be resumed: gateway nodes need it
 * to compute who can no longer see which channels. Then the last pass of the removal takes the id off them, if the role is deleted.
 */
export async function storeRoleRemoval(platform: Platform, serverId: string, roleId: string): Promise<void> {
  await storeRemoval(platform, { _id: roleId, kind: 'role', serverId, ownerId: null, overwrites: [] });
}

/** How many members end in one round. */
const membersPerRound = 1_000;

/**
 * Ends all memberships of a deleted server in rounds, and has these accounts and `leftUserIds` notified. `leftUserIds` left just before and were not notified
 * yet.
 */
async function endMemberships(platform: WakePlatform, serverId: string, leftUserIds: readonly string[]): Promise<void> {
  const { members } = platform.db;
  for (let round = 0; ; round++) {
    const found = await members
      .find({ serverId }, { projection: { userId: 1, bot: 1 } })
      .sort({ serverId: 1, userId: 1 })
      .limit(membersPerRound)
      .toArray();
    const accounts = found.map((one) => one.userId);
    const bots = found.filter((one) => one.bot).map((one) => one.userId);
    const userIds = round === 0 ? [...new Set([...accounts, ...leftUserIds])] : accounts;
    if (userIds.length === 0) return;
    const removalId = platform.ids.next();
    await storeRemoval(platform, { _id: removalId, kind: 'members', serverId, ownerId: null, overwrites: [], userIds });
    await changeServerCounts(platform, bots, 0);
    if (accounts.length > 0)
      await platform.accessVersions.runChange({ members: accounts.map((id) => [serverId, id] as const) }, () =>
        members.deleteMany({ serverId, userId: { $in: accounts } }),
      );
    failpoint(platform.config, 'after-departure');
    await deleteMembershipsOfServer(platform, serverId, userIds);
    await changeServerCounts(platform, bots, -1);
    platform.jobs.tryEnqueue('finish-removal', { removalId });
  }
}

/** Deletes a server's document, which hides it at once, if `ownerId` still owns it. Call it inside the change of the server. */
const deleteServer = ({ db }: WakePlatform, serverId: string, ownerId: string) => db.servers.findOneAndDelete({ _id: serverId, ownerId });

/** Ends the memberships of a server that was just deleted, so that they no longer count for anybody; null if it was deleted before or has another owner. */
async function endServer(
  platform: WakePlatform,
  serverId: string,
  deleted: ServerDoc | null,
): Promise<'deleted' | 'already-deleted' | 'not-owner'> {
  if (!deleted && (await exists(platform.db.servers, { _id: serverId }))) return 'not-owner';
  const leftUserIds = deleted?.outbox?.flatMap(({ name, data }) => (name === 'MEMBER_REMOVE' ? data.userId : [])) ?? [];
  await endMemberships(platform, serverId, leftUserIds);
  return deleted ? 'deleted' : 'already-deleted';
}

/** Completes the deletion of a server. Returns `not-owner` if `ownerId` does not own it any more, and `already-deleted` if it does not exist. */
export async function deleteServerDoc(platform: WakePlatform, { _id, ownerId }: RemovalDoc): ReturnType<typeof endServer> {
  const deleted = await platform.accessVersions.runChange({ servers: [_id] }, () => deleteServer(platform, _id, ownerId as string));
  return endServer(platform, _id, deleted);
}

/** Removes a server of `ownerId`; false when it was deleted already or has another owner by now. The job `finish-removal` deletes what is left of it. */
export async function removeServer(platform: WakePlatform, serverId: string, ownerId: string): Promise<boolean> {
  const [removal, deleted] = await platform.accessVersions.runChange({ servers: [serverId] }, async () => {
    const stored = await storeRemoval(platform, { _id: serverId, kind: 'server', serverId, ownerId, overwrites: [] });
    return [stored, await deleteServer(platform, serverId, ownerId)] as const;
  });
  const outcome = await endServer(platform, serverId, deleted);
  if (outcome === 'not-owner') await deleteRemoval(platform, removal);
  else platform.jobs.tryEnqueue('finish-removal', { removalId: serverId });
  return outcome === 'deleted';
}

/**
 * Deletes an application with its bot: the bot's token and account first, so that it can no longer act or be added. False when the application was deleted
 * already.
 */
export async function deleteApplicationDocs(
  { db, accessVersions }: Platform,
  { _id, ownerId, userIds = [] }: RemovalDoc,
): Promise<boolean> {
  const bot = { $in: userIds };
  await accessVersions.runChange({ accounts: userIds, credentials: true }, async () => {
    await db.tokens.deleteMany({ accountId: bot });
    await db.accounts.deleteMany({ _id: bot });
  });
  const { deletedCount } = await db.applications.deleteOne({ _id, ownerId: ownerId as string });
  return deletedCount === 1;
}

/** Removes an application; false when it was deleted already. The job `finish-removal` removes its bot from its servers. */
export async function removeApplication(platform: EnqueuePlatform, { _id, ownerId, botId }: ApplicationDoc): Promise<boolean> {
  const removal = await storeRemoval(platform, { _id, kind: 'application', serverId: null, ownerId, overwrites: [], userIds: [botId] });
  const isDeleted = await deleteApplicationDocs(platform, removal);
  platform.jobs.tryEnqueue('finish-removal', { removalId: _id });
  return isDeleted;
}

/**
 * Stores the removal of an account whose grace period is over, unless it is stored already. The job `finish-removal` deletes the account, unless the deletion
 * is cancelled first.
 */
export async function storeAccountRemoval(platform: EnqueuePlatform, accountId: string): Promise<void> {
  const now = platform.now();
  const removal = { _id: accountId, kind: 'account' as const, serverId: null, ownerId: null, overwrites: [] };
  const isNew = await insertNew(platform.db.removals, { ...removal, at: new Date(now), nextAt: new Date(now + sweepAfterMs) });
  failpoint(platform.config, 'after-removal-intent');
  if (isNew) platform.jobs.tryEnqueue('finish-removal', { removalId: accountId });
}

/**
 * Deletes the document of a removal that is done, unless the removal was stored again meanwhile. While a backup runs, it is kept for the sweep to delete later:
 * the backup may have read what the removal deleted.
 */
export async function deleteRemoval(platform: Platform, { _id, ownerId, at }: RemovalDoc): Promise<void> {
  const { removals } = platform.db;
  if (await isBackupRunning(platform.db)) {
    const nextAt = new Date(platform.now() + keptForMs);
    await removals.updateOne({ _id, ownerId, at }, { $set: { done: true, nextAt } });
  } else await removals.deleteOne({ _id, ownerId, at });
}
