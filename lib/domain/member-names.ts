import { idOf } from '../base/ids.ts';
import { folded } from '../base/text.ts';
import { trusted } from '../store/database.ts';
import type { AccountDoc } from '../store/models/account.ts';
import { type MemberDoc, renamedMembersIndex } from '../store/models/server.ts';
import type { Platform } from '../store/platform.ts';

/** How many members one sweep names, and how long after a join or rename it looks, in milliseconds. */
const namedMost = 1_000;
const quietMs = 5_000;

/** The id that a member has from the start where a database was made before members had names. */
const firstRenameId = '0';

const searchOf = ({ username, displayName }: Pick<AccountDoc, 'username' | 'displayName'>): NonNullable<MemberDoc['search']> => ({
  username: folded(username),
  displayName: folded(displayName),
});

/** Writes what a search compares of these members, unless another rename came since they were read. One whose account is gone is found by no name. */
async function writeNames(platform: Platform, members: readonly Pick<MemberDoc, '_id' | 'userId' | 'renameId'>[]): Promise<void> {
  if (members.length === 0) return;
  const userIds = [...new Set(members.map((one) => one.userId))];
  const found = await platform.db.accounts.find({ _id: trusted({ $in: userIds }) }, { username: 1, displayName: 1 }).lean();
  const accounts = new Map(found.map((account) => [account._id, account]));
  await platform.db.members.collection.bulkWrite(
    members.map(({ _id, userId, renameId }) => {
      const account = accounts.get(userId);
      const set = account ? { $set: { search: searchOf(account) } } : {};
      return { updateOne: { filter: { _id: _id as never, renameId }, update: { ...set, $unset: { renameId: 1 } } } };
    }) as never,
    { ordered: false },
  );
}

/** Writes the names of a member that was just added. */
export const nameMember = (platform: Platform, { _id, userId, renameId }: MemberDoc): Promise<void> =>
  writeNames(platform, [{ _id, userId, ...(renameId === undefined ? {} : { renameId }) }]);

const markRenamed = async ({ db, ids }: Platform, userId: string): Promise<void> => {
  await db.members.updateMany({ userId }, { $set: { renameId: ids.next() } });
};

/**
 * Runs `rename`, which changes the names of an account, and writes the names of its members. The mark before it lets a sweep finish what a crash interrupts;
 * the mark after it makes another rename at the same moment write nothing older.
 */
export async function renaming<T>(platform: Platform, userId: string, rename: () => Promise<T>): Promise<T> {
  await markRenamed(platform, userId);
  const result = await rename();
  await markRenamed(platform, userId);
  const members = await platform.db.members.find({ userId, renameId: trusted({ $exists: true }) }, { userId: 1, renameId: 1 }).lean();
  await writeNames(platform, members);
  return result;
}

/** Writes the names of members that a join or a rename left unnamed. */
export async function nameMarkedMembers(platform: Platform): Promise<void> {
  const due = idOf(platform.now() - quietMs, 0, 0);
  const marked = await platform.db.members
    .find({ renameId: trusted({ $lt: due }) }, { userId: 1, renameId: 1 })
    .sort({ renameId: 1 })
    .limit(namedMost)
    .hint(renamedMembersIndex)
    .lean();
  await writeNames(platform, marked);
}

/** Marks the members of a database that was made before members had names. Reads all members once. */
export async function markUnnamedMembers({ db }: Platform): Promise<void> {
  const unnamed = { search: trusted({ $exists: false }), renameId: trusted({ $exists: false }) };
  await db.members.updateMany(unnamed, { $set: { renameId: firstRenameId } });
}
