import type { Database } from '../../mongo/database.ts';
import { epochSize } from './epochs.ts';

/**
 * Stores the state of the event log for a restored database: all positions of earlier logs become invalid, because events after the backup do not exist any more
 * (docs/delivery.md#loss). `lastEpoch` is the highest epoch of any log that clients may have positions of.
 */
export async function storeRestoredLog(db: Database, partitions: number, lastEpoch: number): Promise<void> {
  const entries = Array.from({ length: partitions }, (_, partition) => [String(partition), (lastEpoch + 1) * epochSize]);
  await db.log.replaceOne({ _id: 'log' }, { partitions, acknowledged: Object.fromEntries(entries) }, { upsert: true });
}
