import { failpoint } from '../../base/failpoint.ts';
import { forEachLimit } from '../../base/for-each-limit.ts';
import { limits } from '../../base/limits.ts';
import { exists } from '../../store/mongo/database.ts';
import { deleteInBatches } from '../../store/mongo/delete-in-batches.ts';
import type { RemovalDoc } from '../../store/mongo/models/removal.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { findServerIdPages } from '../access/memberships.ts';
import { findContacts } from '../accounts/outbox.ts';
import { deleteSessions } from '../accounts/sessions.ts';
import { deleteExportsOf } from '../exports/exports.ts';
import { removeChannelFiles } from '../files/files.ts';
import { removeMember } from '../members/changes.ts';
import { replaceWithTombstone } from '../messages/messages.ts';
import { removeApplication, removeServer } from '../removals.ts';
import { deletedAuthor } from '../views/accounts.ts';
import { emptyChannel, type Pass } from './removal-pass.ts';

/** How many messages or DMs are read in one round, and how many messages are deleted at once. */
const batchSize = 100;
const deletesAtOnce = 4;

/**
 * Begins the deletion of an account, unless it was cancelled: then it returns null. One conditional write of the account decides. From then on nobody can log
 * in. After that the removal says that the deletion has begun, so that it is completed also after the account is deleted, and after a restore of a backup in
 * which the account was read before that (docs/store.md#backups).
 */
export async function beginAccountRemoval({ config, db, now }: WorkerPlatform, removal: RemovalDoc): Promise<RemovalDoc | null> {
  if (removal.messages !== undefined) return removal;
  const { _id } = removal;
  const at = new Date(now());
  const account = await db.accounts.findOneAndUpdate(
    { _id, $or: [{ 'deletion.at': { $lte: at } }, { 'deletion.begun': true }] },
    { $set: { 'deletion.begun': true, passwordHash: null } },
  );
  const messages = account?.deletion?.messages;
  if (messages === undefined) {
    // Another worker may have begun and deleted the account since this one read the removal.
    const current = await db.removals.findOne({ _id });
    return current?.messages === undefined ? null : current;
  }
  failpoint(config, 'after-account-begin');
  await db.removals.updateOne({ _id, messages: { $exists: false } }, { $set: { messages, at } });
  return db.removals.findOne({ _id });
}

/**
 * Deletes what an account leaves behind: its credentials and the account itself first, so that it can no longer act; its applications; its memberships with the
 * servers that it owns; its read positions, pictures, archives with its data, and DMs that nobody else can read; and its messages, if the person chose so. Reactions stay, because they
 * cannot be found by account.
 */
export async function finishAccount(platform: WorkerPlatform, { _id: userId, messages }: RemovalDoc, pass: Pass): Promise<void> {
  const { db } = platform;
  await deleteAccountDocs(platform, userId);
  failpoint(platform.config, 'after-account-delete');
  await announceDeletion(platform, userId);
  await removeApplications(platform, userId);
  for await (const serverIds of findServerIdPages(platform, userId))
    for (const serverId of serverIds) {
      await pass.reportProgress();
      await leaveServer(platform, serverId, userId);
      failpoint(platform.config, 'during-removal');
    }
  await deleteInBatches(db.reads, { userId }, pass.reportProgress);
  await removeChannelFiles(platform, userId, pass.reportProgress); // its avatar
  await deleteExportsOf(platform, userId);
  await removeUnreadableDms(platform, userId, pass);
  if (messages === 'delete') await deleteMessagesOf(platform, userId, pass);
}

/** Deletes the credentials of an account and the account, on every node at once. */
async function deleteAccountDocs(platform: WorkerPlatform, accountId: string): Promise<void> {
  const { db, accessVersions } = platform;
  await accessVersions.runChange({ accounts: [accountId], credentials: true }, async () => {
    await deleteSessions(platform, accountId, null);
    await db.passwordResets.deleteMany({ accountId });
    await db.accounts.deleteOne({ _id: accountId });
  });
}

/** Sends USER_UPDATE with the names of a deleted account to everyone who shares a server or a DM with it. */
async function announceDeletion(platform: WorkerPlatform, userId: string): Promise<void> {
  const contacts = await findContacts(platform, userId);
  await platform.eventLog.broadcast({
    id: `gone-${userId}`,
    name: 'USER_UPDATE',
    data: { ...deletedAuthor(userId), tag: null },
    ...contacts,
  });
}

/** Deletes the applications of an account with their bots. */
async function removeApplications(platform: WorkerPlatform, ownerId: string): Promise<void> {
  const owned = await platform.db.applications.find({ ownerId }).sort({ slot: 1 }).limit(limits.applicationsPerPerson).toArray();
  for (const application of owned) await removeApplication(platform, application);
}

/** Removes an account from a server, and deletes the server if the account owns it, also if it became the owner at the same moment. */
async function leaveServer(platform: WorkerPlatform, serverId: string, userId: string): Promise<void> {
  const owned = { _id: serverId, ownerId: userId };
  if (!(await exists(platform.db.servers, owned))) await removeMember(platform, serverId, userId);
  if (await exists(platform.db.servers, owned)) await removeServer(platform, serverId, userId);
}

/**
 * Empties the DMs of a deleted account that nobody can read: those with a deleted account, and that with the platform's own account, which has its notices. The
 * last pass deletes them.
 */
async function removeUnreadableDms(platform: WorkerPlatform, userId: string, pass: Pass): Promise<void> {
  const { dms, accounts } = platform.db;
  for (let before: string | undefined; ; ) {
    const found = await dms
      .find(
        { userIds: userId, ...(before === undefined ? {} : { activeId: { $lt: before } }) },
        { projection: { userIds: 1, activeId: 1 } },
      )
      .sort({ activeId: -1 })
      .limit(batchSize)
      .toArray();
    const others = found.flatMap(({ userIds }) => userIds.filter((id) => id !== userId));
    const readers = await accounts.find({ _id: { $in: others }, kind: { $ne: 'system' } }, { projection: { _id: 1 } }).toArray();
    const readerIds = new Set(readers.map(({ _id }) => _id));
    const unreadable = found.filter(({ userIds }) => !userIds.some((id) => readerIds.has(id)));
    for (const { _id } of unreadable) await emptyChannel(platform, _id, pass);
    if (pass.isLast && unreadable.length > 0) await dms.deleteMany({ _id: { $in: unreadable.map(({ _id }) => _id) } });
    before = found.at(-1)?.activeId;
    if (found.length < batchSize) return;
  }
}

/** Deletes the messages of an account in all channels, as their author would. */
async function deleteMessagesOf(platform: WorkerPlatform, authorId: string, { reportProgress }: Pass): Promise<void> {
  for (let after = ''; ; ) {
    await reportProgress();
    const found = await platform.db.messages
      .find({ authorId, _id: { $gt: after }, deleted: { $exists: false } })
      .sort({ authorId: 1, _id: 1 })
      .limit(batchSize)
      .hint('authorId_1__id_1')
      .toArray();
    await forEachLimit(found, deletesAtOnce, (message) => replaceWithTombstone(platform, message));
    failpoint(platform.config, 'during-removal');
    after = found.at(-1)?._id ?? after;
    if (found.length < batchSize) return;
  }
}
