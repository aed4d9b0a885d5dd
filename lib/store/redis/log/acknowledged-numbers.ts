import { ConfigurationError } from '../../../base/process.ts';
import { firstNewId } from '../../mongo/announced.ts';
import { type Database, relaxedWriteConcern } from '../../mongo/database.ts';
import { insertNew } from '../../mongo/insert.ts';

/** Stores the number of partitions, and from where on messages can be new, at the first start. Rejects with `ConfigurationError` when the stored number differs from `partitions`. */
export async function checkPartitions(db: Database, partitions: number): Promise<void> {
  await insertNew(db.log, { _id: 'log', partitions, acknowledged: {} });
  const stored = await db.log.findOne({ _id: 'log' });
  if (stored?.announcedTo === undefined) await db.log.updateOne({ _id: 'log' }, { $max: { announcedTo: firstNewId() } });
  if (stored?.partitions === partitions) return;
  throw new ConfigurationError(
    `LOG_PARTITIONS is ${partitions}, but this installation was created with ${stored?.partitions}. Set LOG_PARTITIONS to ${stored?.partitions}.`,
  );
}

/** The highest number of an acknowledged event of each partition, stored in the database. A log that ends below it has lost events. */
export interface AcknowledgedNumbers {
  /** Reads the number of one partition; 0 when there is none. */
  read(partition: number): Promise<number>;
  /** Stores numbers by partition; resolves when they are stored. Calls that come during a write are written together afterwards. */
  record(numbers: ReadonlyMap<number, number>): Promise<void>;
}

/** Binds the acknowledged numbers to `db`. */
export function createAcknowledgedNumbers(db: Database): AcknowledgedNumbers {
  const pending = new Map<number, number>();
  let currentWrite: Promise<void> = Promise.resolve();
  let nextWrite: Promise<void> | null = null;
  const write = async (): Promise<void> => {
    nextWrite = null;
    const highest = Object.fromEntries([...pending].map(([partition, number]) => [`acknowledged.${partition}`, number]));
    pending.clear();
    await db.log.updateOne({ _id: 'log' }, { $max: highest }, relaxedWriteConcern);
  };
  return {
    read: async (partition) => (await db.log.findOne({ _id: 'log' }))?.acknowledged[partition] ?? 0,
    record(numbers) {
      for (const [partition, number] of numbers) pending.set(partition, Math.max(number, pending.get(partition) ?? 0));
      if (!nextWrite) {
        nextWrite = currentWrite.catch(() => undefined).then(write);
        currentWrite = nextWrite;
      }
      return nextWrite;
    },
  };
}
