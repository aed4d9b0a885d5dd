import { composeId } from '../../base/ids.ts';
import { foldSearch } from '../../base/text.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import { firstRenameId, type MemberDoc, renamedMembersIndex, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { findServerIdPages } from '../access/memberships.ts';

/** How many members one sweep updates, and how long it waits after a join or rename, in milliseconds. */
const sweepMax = 1_000;
const quietMs = 5_000;

/** What `writeNames` needs of a member. */
const namedFields = { serverId: 1, userId: 1, renameId: 1 } as const;

const toSearchFields = ({ username, displayName }: Pick<AccountDoc, 'username' | 'displayName'>): NonNullable<MemberDoc['search']> => ({
  username: foldSearch(username),
  displayName: foldSearch(displayName),
});

/** The names of the accounts of these members. */
const findNames = ({ db }: Platform, members: readonly Pick<MemberDoc, 'userId'>[]): Promise<AccountDoc[]> =>
  db.accounts
    .find({ _id: { $in: [...new Set(members.map(({ userId }) => userId))] } }, { projection: { username: 1, displayName: 1 } })
    .toArray();

/**
 * Writes the names that a search compares, except for members that were renamed again since they were read. A member whose account no longer exists gets none.
 */
async function writeNames(
  platform: Platform,
  members: readonly Pick<MemberDoc, '_id' | 'serverId' | 'userId' | 'renameId'>[],
): Promise<void> {
  if (members.length === 0) return;
  const accounts = new Map((await findNames(platform, members)).map((account) => [account._id, account]));
  await platform.db.members.bulkWrite(
    members.map(({ _id, serverId, userId, renameId }) => {
      const account = accounts.get(userId);
      const set = account ? { $set: { search: toSearchFields(account) } } : {};
      return {
        updateOne: { filter: { _id, serverId, renameId: renameId ?? { $exists: false } }, update: { ...set, $unset: { renameId: 1 } } },
      };
    }),
    { ordered: false },
  );
}

/** Writes the names of a newly added member. */
export const writeMemberNames = (platform: Platform, { _id, serverId, userId, renameId }: MemberDoc): Promise<void> =>
  writeNames(platform, [{ _id, serverId, userId, ...(renameId === undefined ? {} : { renameId }) }]);

/** The filters of all members of an account, each for up to 1,000 of them. */
async function* findMemberKeys(platform: Platform, userId: string) {
  for await (const serverIds of findServerIdPages(platform, userId)) yield toMemberKeys(serverIds, [userId]);
}

async function markRenamed(platform: Platform, userId: string): Promise<void> {
  const renameId = platform.ids.next();
  for await (const keys of findMemberKeys(platform, userId)) await platform.db.members.updateMany(keys, { $set: { renameId } });
}

/**
 * Runs `rename`, which changes the names of an account, and then updates its members. Sets `renameId` before, so that a sweep can finish after a crash; and
 * again after, so that a concurrent rename cannot write names that it read before this one.
 */
export async function withMemberRename<T>(platform: Platform, userId: string, rename: () => Promise<T>): Promise<T> {
  await markRenamed(platform, userId);
  const result = await rename();
  await markRenamed(platform, userId);
  for await (const keys of findMemberKeys(platform, userId)) {
    const members = await platform.db.members.find({ ...keys, renameId: { $exists: true } }, { projection: namedFields }).toArray();
    await writeNames(platform, members);
  }
  return result;
}

/**
 * Writes the names of those `members` that differ from the names of their accounts, as after a rename. Members with `renameId` are left to the sweep. Returns
 * how many there were.
 */
export async function correctMemberNames(platform: Platform, members: readonly MemberDoc[]): Promise<number> {
  const accounts = new Map((await findNames(platform, members)).map((account) => [account._id, toSearchFields(account)]));
  const wrong = members.filter(({ userId, search, renameId }) => {
    const names = accounts.get(userId);
    return (
      renameId === undefined && names !== undefined && (search?.username !== names.username || search.displayName !== names.displayName)
    );
  });
  if (wrong.length === 0) return 0;
  const renameId = platform.ids.next();
  const keys = { _id: { $in: wrong.map(({ _id }) => _id) }, serverId: { $in: [...new Set(wrong.map(({ serverId }) => serverId))] } };
  await platform.db.members.updateMany({ ...keys, renameId: { $exists: false } }, { $set: { renameId } }, { hint: '_id_' });
  await writeNames(
    platform,
    wrong.map(({ _id, serverId, userId }) => ({ _id, serverId, userId, renameId })),
  );
  return wrong.length;
}

/** Writes the names of members whose join or rename did not. */
export async function sweepMemberNames(platform: Platform): Promise<void> {
  const dueBefore = composeId(platform.now() - quietMs, 0, 0);
  const marked = await platform.db.members
    .find({ renameId: { $gte: firstRenameId, $lt: dueBefore } }, { projection: namedFields })
    .sort({ renameId: 1 })
    .limit(sweepMax)
    .hint(renamedMembersIndex)
    .toArray();
  await writeNames(platform, marked);
}
