import { failpoint } from '../../base/failpoint.ts';
import { forEachLimit } from '../../base/for-each-limit.ts';
import { limits } from '../../base/limits.ts';
import { toParts } from '../../base/parts.ts';
import { exists, withSharedFields } from '../../store/mongo/database.ts';
import { deleteInBatches } from '../../store/mongo/delete-in-batches.ts';
import { sweepDue } from '../../store/mongo/due.ts';
import type { RemovalDoc, RemovalInServer } from '../../store/mongo/models/removal.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { deleteMembershipsOfServer, findServerIdPages } from '../access/memberships.ts';
import { removeChannelFiles } from '../files/files.ts';
import { removeMember } from '../members/changes.ts';
import { appendEvents } from '../relay/relay.ts';
import { deleteApplicationDocs, deleteChannelDoc, deleteRemoval, deleteServerDoc } from '../removals.ts';
import { newChannelDelete, newServerDelete } from '../servers/events.ts';
import { beginAccountRemoval, finishAccount } from './finish-account-removal.ts';
import { emptyChannel, type Pass } from './removal-pass.ts';

/** When the last pass runs, in milliseconds after the deletion. By then, every post that was under way is stored or has failed. */
const lastPassMs = 60_000;
/** The same of a deleted role: by then, no session can be resumed that needs to know who had it. */
const lastPassOfRoleMs = lastPassMs + limits.sessionRetentionMs;
/** How long a pass may report no progress (`reportProgress`) before the sweep starts another one, in milliseconds. */
const staleAfterMs = 10_000;
/** How many channels or threads are read in one round. */
const batchSize = 100;

/** Appends CHANNEL_DELETE for threads of a deleted channel, for those who could view it, once in all passes. Not used when the whole server is deleted. */
async function appendThreadDeletes(
  platform: WorkerPlatform,
  { _id, serverId, overwrites }: RemovalInServer,
  ids: readonly string[],
  { isLast }: Pass,
): Promise<void> {
  const events = ids.map((id) => newChannelDelete(serverId, id, { channelId: _id, overwrites }));
  await platform.eventLog.confirm(await appendEvents(platform, events));
  if (isLast) await platform.eventLog.expireMarks(events);
}

/**
 * Empties the channels that `scope` matches, in batches, and deletes them in the last pass. `beforeBatch` is called with the ids of each batch before it is
 * emptied.
 */
async function emptyChannels(
  platform: WorkerPlatform,
  scope: { serverId: string; parentId?: string; kind?: 'thread' },
  pass: Pass,
  beforeBatch: (ids: readonly string[]) => Promise<void>,
): Promise<void> {
  const { channels } = platform.db;
  for (let after = ''; ; ) {
    const found = await channels
      .find({ ...scope, _id: { $gt: after } }, { projection: { _id: 1 } })
      .sort({ serverId: 1, _id: 1 })
      .limit(batchSize)
      .hint('serverId_1__id_1')
      .toArray();
    const ids = found.map((one) => one._id);
    await beforeBatch(ids);
    for (const id of ids) await emptyChannel(platform, id, pass);
    if (pass.isLast) await channels.deleteMany({ _id: { $in: ids } });
    after = ids.at(-1) ?? after;
    if (ids.length < batchSize) return;
  }
}

async function finishChannel(platform: WorkerPlatform, removal: RemovalInServer, pass: Pass): Promise<void> {
  const { _id, serverId, overwrites } = removal;
  await deleteChannelDoc(platform, removal);
  // An api of the version before deletes a channel without a pending event.
  const event = newChannelDelete(serverId, _id, { channelId: _id, change: { channel: { id: _id, before: overwrites, after: null } } });
  await platform.eventLog.confirm(await appendEvents(platform, [event]));
  await emptyChannel(platform, _id, pass);
  // Threads only: a channel that is moved into a category while the category is being deleted keeps its contents.
  await emptyChannels(platform, { serverId, parentId: _id, kind: 'thread' }, pass, (ids) =>
    appendThreadDeletes(platform, removal, ids, pass),
  );
}

async function finishServer(platform: WorkerPlatform, { serverId }: RemovalInServer, pass: Pass): Promise<void> {
  await emptyChannels(platform, { serverId }, pass, () => Promise.resolve());
  const { invites, bans, audit, commands } = platform.db;
  for (const one of [invites, bans, audit, commands])
    await deleteInBatches(withSharedFields<{ serverId: string }>(one), { serverId }, pass.reportProgress);
  await removeChannelFiles(platform, serverId, pass.reportProgress); // its icon
}

/** Removes the bot of a deleted application from its servers, one after another, and deletes the commands and the icon of the application. */
async function finishApplication(platform: WorkerPlatform, removal: RemovalDoc, { reportProgress }: Pass): Promise<void> {
  const { _id, userIds = [] } = removal;
  await deleteApplicationDocs(platform, removal);
  for (const userId of userIds)
    for await (const serverIds of findServerIdPages(platform, userId))
      for (const serverId of serverIds) {
        await reportProgress();
        await removeMember(platform, serverId, userId);
        failpoint(platform.config, 'during-removal');
      }
  await deleteInBatches(platform.db.commands, { applicationId: _id }, reportProgress);
  await removeChannelFiles(platform, _id, reportProgress); // its icon
}

/**
 * In the last pass, removes a deleted role from its members. Sends no event: ROLE_DELETE was the event for all of them, and no member is shown with the role
 * since then.
 */
async function finishRole({ db }: WorkerPlatform, { _id, serverId }: RemovalInServer, { isLast }: Pass): Promise<void> {
  if (!isLast || (await exists(db.servers, { _id: serverId, 'roles.id': _id }))) return;
  await db.members.updateMany({ serverId, roles: _id }, { $pull: { roles: _id } });
}

/** What one pass does for each kind of removal inside a server. */
const passByKind = { server: finishServer, channel: finishChannel, role: finishRole };

/** How many former members of a server are notified in one batch. */
const notifiedPerBatch = 50;

/**
 * Notifies the former members of a deleted server that it is deleted, and deletes their memberships, in case the process that should have done so died. Each is
 * notified once, however often this runs.
 */
async function finishMembers(platform: WorkerPlatform, removal: RemovalInServer, reportProgress: Pass['reportProgress']): Promise<void> {
  const { serverId, userIds = [] } = removal;
  const toEvent = (userId: string) => newServerDelete(`gone-${serverId}-${userId}`, serverId, userId);
  for (const batch of toParts(userIds, notifiedPerBatch)) {
    await reportProgress();
    await deleteMembershipsOfServer(platform, serverId, batch);
    await platform.eventLog.confirm(await appendEvents(platform, batch.map(toEvent)));
  }
  await deleteRemoval(platform, removal);
  void platform.eventLog.expireMarks(userIds.map(toEvent));
}

/**
 * Runs one pass over what a deletion leaves behind. The last pass runs a minute after the deletion, for posts that were under way. Returns how many
 * milliseconds are left until then, or null if all is done. Everything here can be repeated, so a pass that died or runs twice at once does no harm.
 */
export async function finishRemoval(platform: WorkerPlatform, removalId: string): Promise<number | null> {
  const { removals } = platform.db;
  const reportProgress = () => removals.updateOne({ _id: removalId }, { $set: { nextAt: new Date(platform.now() + staleAfterMs) } });
  await reportProgress();
  const found = await removals.findOne({ _id: removalId });
  if (!found) return null;
  const removal = found.kind === 'account' && !found.done ? await beginAccountRemoval(platform, found) : found;
  if (!removal || removal.done) {
    await deleteRemoval(platform, found);
    return null;
  }
  if (removal.kind === 'members') {
    await finishMembers(platform, removal as RemovalInServer, reportProgress);
    return null;
  }
  const lastAt = removal.at.getTime() + (removal.kind === 'role' ? lastPassOfRoleMs : lastPassMs);
  const pass: Pass = { reportProgress, isLast: platform.now() >= lastAt };
  const isKept = removal.kind === 'server' && (await deleteServerDoc(platform, removal)) === 'not-owner';
  if (removal.kind === 'application') await finishApplication(platform, removal, pass);
  else if (removal.kind === 'account') await finishAccount(platform, removal, pass);
  else if (!isKept) await passByKind[removal.kind](platform, removal as RemovalInServer, pass);
  if (isKept || pass.isLast) {
    await deleteRemoval(platform, removal);
    return null;
  }
  await removals.updateOne({ _id: removalId }, { $set: { nextAt: new Date(lastAt) } });
  return Math.max(0, lastAt - platform.now());
}

/** Finishes the overdue removals that this worker owns, without the queue. A failed one does not delay the others; the first error is thrown at the end. */
export const finishOverdueRemovals = sweepDue({
  collection: 'removals',
  due: 'nextAt',
  fields: [],
  max: 100,
  run: (platform: WorkerPlatform, found) =>
    forEachLimit(
      found.filter(({ _id }) => platform.shares.isOwner(_id)),
      1,
      ({ _id }) => finishRemoval(platform, _id),
    ),
});
