import type { Logger } from '../../base/log.ts';
import type { Collections } from './database.ts';
import { insertMissing } from './insert.ts';
import { settleMemberships, toMembership } from './memberships.ts';
import type { MemberDoc } from './models/server.ts';
import { moveReactions } from './move-reactions.ts';

/**
 * A change of data that an earlier version has stored. It runs once for each database, before the process serves anything; if it is interrupted, or two
 * processes start at the same time, it runs again, which must change nothing further.
 */
interface Migration {
  /** Its name in the database. It never changes. */
  name: string;
  run: (db: Collections) => Promise<void>;
}

/** How many documents a migration reads at once. */
const batchSize = 500;

/**
 * Gives every member its membership, with the slot that an earlier version stored in the member. The marks are for another process that has migrated before and
 * serves already: a member that leaves meanwhile keeps no membership.
 */
async function fillMemberships({ members, memberships }: Collections): Promise<void> {
  const projection = { serverId: 1, userId: 1, bot: 1, joinedAt: 1, slot: 1 };
  for (let after = ''; ; ) {
    const found = await members
      .find({ _id: { $gt: after } })
      .project<MemberDoc & { slot?: number }>(projection)
      .sort({ _id: 1 })
      .limit(batchSize)
      .toArray();
    const checkAt = new Date();
    const filled = found.map(({ slot, ...member }) => ({ ...toMembership(member), ...(slot === undefined ? {} : { slot }), checkAt }));
    await insertMissing(memberships, filled);
    await settleMemberships({ members, memberships }, filled, checkAt);
    after = found.at(-1)?._id ?? after;
    if (found.length < batchSize) return;
  }
}

/** The migrations, in the order in which they run. */
const migrations: readonly Migration[] = [
  { name: 'fill-memberships', run: fillMemberships },
  { name: 'move-reactions', run: moveReactions },
];

/** Runs the migrations that this database has not had yet. They need the indexes. */
export async function migrate(db: Collections, log: Logger): Promise<void> {
  const done = new Set(await db.migrations.distinct('_id'));
  for (const { name, run } of migrations) {
    if (done.has(name)) continue;
    log.info({ migration: name }, 'migrating the database');
    await run(db);
    await db.migrations.updateOne({ _id: name }, { $set: { doneAt: new Date() } }, { upsert: true });
  }
}
