import { setTimeout as sleep } from 'node:timers/promises';
import type { Report } from '../../base/progress.ts';
import { type Collections, withSharedFields } from '../../store/mongo/database.ts';
import type { Platform } from '../../store/platform.ts';

/** How many files, accounts or servers are read at once. */
const batchSize = 1_000;
/**
 * How long the write of a file's document may follow the count of its bytes, in milliseconds, times STORE_TIMEOUT_FACTOR: more than two operations of the
 * database may take.
 */
const writeMs = 10_000;

type Owner = 'accounts' | 'servers';

/** How many were corrected, and the ids of those whose storage changed while it was counted. */
export interface StorageCorrection {
  corrected: number;
  busy: string[];
}

/** The bytes of the files of each account and server that has any. */
type Sums = Record<Owner, Map<string, number>>;

/** Adds up the bytes of all files, by account and server: about 100 MB of memory for a million of them. */
async function sumCharges({ db }: Platform, report: Report): Promise<Sums> {
  const sums: Sums = { accounts: new Map(), servers: new Map() };
  const add = (owner: Owner, id: string, bytes: number): unknown => sums[owner].set(id, (sums[owner].get(id) ?? 0) + bytes);
  let checked = 0;
  for (let after = ''; ; ) {
    const files = await db.files
      .find({ _id: { $gt: after } }, { projection: { charge: 1 } })
      .sort({ _id: 1 })
      .limit(batchSize)
      .toArray();
    for (const { charge } of files) {
      if (!charge) continue;
      add('accounts', charge.accountId, charge.bytes);
      if (charge.serverId !== null) add('servers', charge.serverId, charge.bytes);
    }
    checked += files.length;
    report(`storage: ${checked} files counted`);
    if (files.length < batchSize) return sums;
    after = files.at(-1)?._id ?? after;
  }
}

/** A stored number of bytes that is not the sum of the files. */
interface Difference {
  owner: Owner;
  id: string;
  stored: number | undefined;
  sum: number;
}

const ownersOf = (db: Collections, owner: Owner) => withSharedFields<{ storedBytes?: number }>(db[owner]);

async function findDifferences({ db }: Platform, sums: Sums): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const owner of ['accounts', 'servers'] as const)
    for (let after = ''; ; ) {
      const found = await ownersOf(db, owner)
        .find({ _id: { $gt: after } }, { projection: { storedBytes: 1 } })
        .sort({ _id: 1 })
        .limit(batchSize)
        .toArray();
      for (const { _id: id, storedBytes: stored } of found) {
        const sum = sums[owner].get(id) ?? 0;
        if (sum !== (stored ?? 0)) differences.push({ owner, id, stored, sum });
      }
      if (found.length < batchSize) break;
      after = found.at(-1)?._id ?? after;
    }
  return differences;
}

/**
 * Corrects the storage that accounts and servers use to the sum of their files. Uploads and deletions write both one after the other, so a difference counts
 * only if it is the same when everything is counted a second time, after all writes that were under way (`waitForWrites`).
 */
export async function correctStorage(
  platform: Platform,
  report: Report,
  waitForWrites = (): Promise<unknown> => sleep(writeMs * platform.config.STORE_TIMEOUT_FACTOR),
): Promise<StorageCorrection> {
  const first = await findDifferences(platform, await sumCharges(platform, report));
  if (first.length === 0) return { corrected: 0, busy: [] };
  report(`storage: ${first.length} differ; counting a second time`);
  await waitForWrites();
  const sums = await sumCharges(platform, report);
  const result: StorageCorrection = { corrected: 0, busy: [] };
  for (const { owner, id, stored, sum } of first) {
    const isSame = (sums[owner].get(id) ?? 0) === sum;
    const filter = { _id: id, storedBytes: stored ?? { $exists: false } };
    const isCorrected = isSame && (await ownersOf(platform.db, owner).updateOne(filter, { $set: { storedBytes: sum } })).matchedCount === 1;
    if (isCorrected) result.corrected++;
    else if ((await ownersOf(platform.db, owner).findOne({ _id: id }))?.storedBytes !== (sums[owner].get(id) ?? 0)) result.busy.push(id);
  }
  return result;
}
