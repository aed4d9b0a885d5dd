import { ConfigurationError } from '../../../base/process.ts';
import { bookkeeping, type Database } from '../../mongo/database.ts';
import { insertNew } from '../../mongo/insert.ts';

/** Stores the number of partitions at the first start. Rejects with `ConfigurationError` when the stored number differs from `partitions`. */
export async function fixPartitions(db: Database, partitions: number): Promise<void> {
  await insertNew(db.log, { _id: 'log', partitions, acknowledged: {} });
  const noted = await db.log.findOne({ _id: 'log' }).lean();
  if (noted?.partitions === partitions) return;
  throw new ConfigurationError(
    `LOG_PARTITIONS is ${partitions}, but this installation began with ${noted?.partitions}. Set LOG_PARTITIONS to ${noted?.partitions}.`,
  );
}

/** The highest number of an acknowledged event of each partition, stored in the database. A log that ends below it has lost events. */
export interface Evidence {
  /** Reads the number of one partition; 0 when there is none. */
  read(partition: number): Promise<number>;
  /** Stores numbers by partition; resolves when they are stored. Calls that come during a write are written together afterwards. */
  note(numbers: ReadonlyMap<number, number>): Promise<void>;
}

/** Binds the evidence to `db`. */
export function createEvidence(db: Database): Evidence {
  const pending = new Map<number, number>();
  let writing: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  const write = async (): Promise<void> => {
    next = null;
    const highest = Object.fromEntries([...pending].map(([partition, number]) => [`acknowledged.${partition}`, number]));
    pending.clear();
    await db.log.collection.updateOne({ _id: 'log' as never }, { $max: highest }, bookkeeping);
  };
  return {
    read: async (partition) => (await db.log.findOne({ _id: 'log' }).lean())?.acknowledged[partition] ?? 0,
    note(numbers) {
      for (const [partition, number] of numbers) pending.set(partition, Math.max(number, pending.get(partition) ?? 0));
      if (!next) {
        next = writing.catch(() => undefined).then(write);
        writing = next;
      }
      return next;
    },
  };
}
