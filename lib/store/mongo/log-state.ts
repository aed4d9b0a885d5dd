import { composeId } from '../../base/ids.ts';
import { ConfigurationError } from '../../base/process.ts';
import { type Database, relaxedWriteConcern } from './database.ts';
import { insertNew } from './insert.ts';

/** How long `readAnnounced` returns what it has read, in milliseconds. An older id is only lower, so that more messages are looked at. */
const announcedCacheMs = 1_000;

/** The id from which on messages can be new when an installation starts for the first time, or with a new version or a restored database. */
const firstNewId = (): string => composeId(Date.now() - 60_000, 0, 0);

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

/** What the database knows of the log of events. */
export interface LogState {
  /** The highest number of an acknowledged event of a partition; 0 when there is none. A log that ends below it has lost events. */
  readAcknowledged(partition: number): Promise<number>;
  /** Stores such numbers by partition; resolves when they are stored. Calls that come during a write are written together afterwards. */
  recordAcknowledged(numbers: ReadonlyMap<number, number>): Promise<void>;
  /** Up to which id all new messages are in the log, or have a MESSAGE_CREATE in their outbox (docs/delivery.md#new-messages); as it was at most a second ago. */
  readAnnounced(): Promise<string>;
  /** Stores that this is so up to `id`. */
  recordAnnounced(id: string): Promise<void>;
}

/** Binds the state of the log to `db`. */
export function createLogState(db: Database): LogState {
  const pending = new Map<number, number>();
  let currentWrite: Promise<void> = Promise.resolve();
  let nextWrite: Promise<void> | null = null;
  let announced = { id: '', atMs: Number.NEGATIVE_INFINITY };
  const write = async (): Promise<void> => {
    nextWrite = null;
    const highest = Object.fromEntries([...pending].map(([partition, number]) => [`acknowledged.${partition}`, number]));
    pending.clear();
    await db.log.updateOne({ _id: 'log' }, { $max: highest }, relaxedWriteConcern);
  };
  return {
    readAcknowledged: async (partition) => (await db.log.findOne({ _id: 'log' }))?.acknowledged[partition] ?? 0,
    recordAcknowledged(numbers) {
      for (const [partition, number] of numbers) pending.set(partition, Math.max(number, pending.get(partition) ?? 0));
      if (!nextWrite) {
        nextWrite = currentWrite.catch(() => undefined).then(write);
        currentWrite = nextWrite;
      }
      return nextWrite;
    },
    async readAnnounced() {
      const atMs = performance.now();
      if (atMs - announced.atMs >= announcedCacheMs)
        announced = { id: (await db.log.findOne({ _id: 'log' }))?.announcedTo ?? firstNewId(), atMs };
      return announced.id;
    },
    async recordAnnounced(id) {
      await db.log.updateOne({ _id: 'log' }, { $max: { announcedTo: id } }, relaxedWriteConcern);
      announced = { id, atMs: performance.now() };
    },
  };
}
