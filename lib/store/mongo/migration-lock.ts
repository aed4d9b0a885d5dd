import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from './database.ts';
import { insertNew } from './insert.ts';
import type { MigrationDoc } from './models/meta.ts';

/** How long the lock is held without renewal, and how often it is renewed and tried, in milliseconds. */
const leaseMs = 12_000;
const renewMs = 3_000;
const retryMs = 500;

/** The lock that only one migrating process has at a time. */
export interface MigrationLock {
  /** Throws if the lock may have been taken over, because it was not renewed in time. */
  ensureHeld(): void;
  /** Never rejects: if the database does not answer, the lock expires. */
  release(): Promise<void>;
}

/**
 * Takes the lock, and waits while another process has it. `report` gets a line that names that process. The lock is a lease by the clock of the database:
 * it is renewed until it is released, and expires 12 s after its process died.
 */
export async function acquireMigrationLock(ledger: Collection<MigrationDoc>, report: (line: string) => void): Promise<MigrationLock> {
  const holder = `process ${process.pid} on ${hostname()} (${randomBytes(4).toString('hex')})`;
  const expiresAt = { $add: ['$$NOW', leaseMs] };
  await insertNew(ledger, { _id: 'schema' });
  const isFree = { $expr: { $lt: [{ $ifNull: ['$expiresAt', new Date(0)] }, '$$NOW'] } };
  let heldUntilMs = 0;
  for (let named = ''; ; await sleep(retryMs)) {
    heldUntilMs = performance.now() + leaseMs;
    const { modifiedCount } = await ledger.updateOne({ _id: 'schema', ...isFree }, [{ $set: { holder: { $literal: holder }, expiresAt } }]);
    if (modifiedCount === 1) break;
    const current = (await ledger.findOne({ _id: 'schema' }))?.holder;
    if (current === undefined || current === named) continue;
    named = current;
    report(`waiting for ${current}, which migrates this database`);
  }
  const renew = async (): Promise<void> => {
    const untilMs = performance.now() + leaseMs;
    const { matchedCount } = await ledger.updateOne({ _id: 'schema', holder }, [{ $set: { expiresAt } }]);
    heldUntilMs = matchedCount === 1 ? untilMs : 0;
  };
  // If the database does not answer, the next renewal may still be in time.
  const timer = setInterval(() => void renew().catch(() => undefined), renewMs);
  return {
    ensureHeld() {
      if (performance.now() > heldUntilMs) throw new Error('the lock of the migrations was not renewed in time; run the command again');
    },
    async release() {
      clearInterval(timer);
      await ledger.updateOne({ _id: 'schema', holder }, { $unset: { holder: 1, expiresAt: 1 } }).catch(() => undefined);
    },
  };
}
