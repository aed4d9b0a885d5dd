import type { Collections } from './database.ts';
import { foldApplicationTexts, foldMemberNames, foldServerTexts } from './fold-searches.ts';
import { insertMissing } from './insert.ts';
import { settleMemberships, toMembership } from './memberships.ts';
import { type Batch, inBatches } from './migration-batches.ts';
import { firstRenameId, type MemberDoc } from './models/server.ts';
import { moveReactions } from './move-reactions.ts';

/** A change of data that an earlier version has stored. It runs once for each database, before a process that knows it may start. */
export interface Migration {
  /** Its name in the database. It never changes, and is not `schema`. */
  name: string;
  /**
   * The migration that a process must know to run beside this one, from when this one begins. A migration that removes what an older version reads or writes
   * names the one that replaced it. Without it, processes of older versions may run (docs/store.md#migrations).
   */
  requires?: string;
  /**
   * Does the work in batches, each of which may be interrupted and run twice without a further effect. `after` is the position of the last batch that was
   * done in an earlier run, or ''.
   */
  run: (db: Collections, after: string) => AsyncIterable<Batch>;
}

/** How many members a migration reads at once. */
const batchMembers = 500;

const findMembers = ({ members }: Collections, position: string) =>
  members
    .find({ _id: { $gt: position } })
    .sort({ _id: 1 })
    .limit(batchMembers);

/**
 * Gives every member its membership, with the slot that an earlier version stored in the member. The marks are for another process that serves already: a
 * member that leaves meanwhile keeps no membership.
 */
function fillMemberships(db: Collections, after: string): AsyncIterable<Batch> {
  const projection = { serverId: 1, userId: 1, bot: 1, joinedAt: 1, slot: 1 };
  const read = (position: string) => findMembers(db, position).project<MemberDoc & { slot?: number }>(projection).toArray();
  const fill = async (batch: readonly (MemberDoc & { slot?: number })[]): Promise<void> => {
    const checkAt = new Date();
    const filled = batch.map(({ slot, ...member }) => ({ ...toMembership(member), ...(slot === undefined ? {} : { slot }), checkAt }));
    await insertMissing(db.memberships, filled);
    await settleMemberships(db, filled, checkAt);
  };
  return inBatches(after, read, fill);
}

/** Marks the members that were stored before members had names, so that a sweep writes their names. */
function markUnnamedMembers(db: Collections, after: string): AsyncIterable<Batch> {
  const read = (position: string) => findMembers(db, position).project<{ _id: string }>({ _id: 1 }).toArray();
  const mark = async (batch: readonly { _id: string }[]): Promise<void> => {
    const unnamed = { search: { $exists: false }, renameId: { $exists: false } };
    await db.members.updateMany({ _id: { $in: batch.map(({ _id }) => _id) }, ...unnamed }, { $set: { renameId: firstRenameId } });
  };
  return inBatches(after, read, mark);
}

/** The migrations, in the order in which they run. */
export const migrations: readonly Migration[] = [
  { name: 'fill-memberships', run: fillMemberships },
  { name: 'move-reactions', run: moveReactions },
  { name: 'mark-unnamed-members', run: markUnnamedMembers },
  { name: 'fold-member-names', run: foldMemberNames },
  { name: 'fold-server-texts', run: foldServerTexts },
  { name: 'fold-application-texts', run: foldApplicationTexts },
];
