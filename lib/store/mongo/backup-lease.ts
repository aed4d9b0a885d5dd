import { type Collections, exists, withSharedFields } from './database.ts';
import { insertNew } from './insert.ts';

/** How long blobs are kept after a backup last renewed its lease, and how often it renews it, in milliseconds. */
const leaseMs = 60_000;
const renewalMs = 10_000;

type Db = Pick<Collections, 'meta'>;

/** The document `backup` of `meta`: until when blobs are kept. Backups that run at once share it. */
const leaseOf = ({ meta }: Db) => withSharedFields<{ until: Date }>(meta);

const heldFilter = { _id: 'backup', $expr: { $gt: ['$until', '$$NOW'] } };
const extension = [{ $set: { until: { $max: ['$until', { $add: ['$$NOW', leaseMs] }] } } }];

/**
 * Whether a backup runs, or has ended within the last minute. Then no blob, document of a file or intent of a removal may be deleted
 * (docs/store.md#backups). Ask after the write that makes the deletion due: a backup that begins later sees that write.
 */
export const isBackupRunning = (db: Db): Promise<boolean> => exists(leaseOf(db), heldFilter);

/** The lease of a running backup. */
export interface BackupLease {
  /** Throws if the lease has expired, so that files may have been deleted. */
  check: () => void;
  /** Stops renewing the lease. It expires within a minute. */
  release: () => void;
}

/** Takes the lease of a backup and renews it until it is released. If the process dies, it expires within a minute. */
export async function takeBackupLease(db: Db): Promise<BackupLease> {
  const leases = leaseOf(db);
  await insertNew(leases, { _id: 'backup', until: new Date(0) });
  await leases.updateOne({ _id: 'backup' }, extension);
  let renewedAtMs = performance.now();
  let isLost = false;
  const renew = async (): Promise<void> => {
    const startMs = performance.now();
    const { matchedCount } = await leases.updateOne(heldFilter, extension);
    if (matchedCount === 1) renewedAtMs = startMs;
    else isLost = true;
  };
  // A failed renewal is repeated; `check` counts the time since the last one.
  const timer = setInterval(() => void renew().catch(() => undefined), renewalMs);
  return {
    check() {
      if (isLost || performance.now() - renewedAtMs > leaseMs)
        throw new Error('the database did not answer for a minute, so files may have been deleted meanwhile; run the backup again');
    },
    release: () => clearInterval(timer),
  };
}
