import { ConfigurationError } from '../../base/process.ts';
import { bookkeeping, type Database } from '../database.ts';
import { insertNew } from '../insert.ts';

/** Notes the number of partitions at the first start; rejects with `ConfigurationError` when the log has another number of them. */
export async function fixPartitions(db: Database, partitions: number): Promise<void> {
  await insertNew(db.log, { _id: 'log', partitions, acknowledged: {} });
  const noted = await db.log.findOne({ _id: 'log' }).lean();
  if (noted?.partitions === partitions) return;
  throw new ConfigurationError(
    `LOG_PARTITIONS is ${partitions}, but this installation began with ${noted?.partitions}. Set LOG_PARTITIONS to ${noted?.partitions}.`,
  );
}

/** The highest number of an acknowledged event of each partition, in the database: a log that ends below it has lost events. */
export interface Evidence {
  /** That of one partition; 0 when there is none. */
  read(partition: number): Promise<number>;
  /** Notes numbers by partition; resolves when they are stored. Calls that come while one is written are written together. */
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
