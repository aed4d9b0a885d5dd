import { composeId } from '../../base/ids.ts';
import { type Database, relaxedWriteConcern } from './database.ts';

/** How long a value that was read is used, in milliseconds. An older value is only lower, so that more messages are looked at. */
const cacheMs = 1_000;

/** Up to which id all new messages are announced: in the log, or with a MESSAGE_CREATE in their outbox (docs/delivery.md#new-messages). */
export interface Announced {
  /** The id, as it was at most a second ago. */
  read(): Promise<string>;
  /** Stores that all new messages up to this id are announced. */
  record(id: string): Promise<void>;
}

/** The id from which on messages can be new when an installation starts for the first time, or with a new version or a restored database. */
export const firstNewId = (): string => composeId(Date.now() - 60_000, 0, 0);

/** Binds the id to `db`. */
export function createAnnounced(db: Database): Announced {
  let known = { id: '', atMs: Number.NEGATIVE_INFINITY };
  return {
    async read() {
      const atMs = performance.now();
      if (atMs - known.atMs >= cacheMs) known = { id: (await db.log.findOne({ _id: 'log' }))?.announcedTo ?? firstNewId(), atMs };
      return known.id;
    },
    async record(id) {
      await db.log.updateOne({ _id: 'log' }, { $max: { announcedTo: id } }, relaxedWriteConcern);
      known = { id, atMs: performance.now() };
    },
  };
}
