import { mongo } from 'mongoose';
import { refuse } from '../../base/errors.ts';
import { type Collection, type Filter, isDuplicateKey, isWriteConflict } from './database.ts';

/** How often an insert is tried if it loses a deadlock. On DocumentDB, two inserts of the same key into a unique index may deadlock. */
const maxAttempts = 10;

/** Inserts `doc` as it is, without reading or casting it. Returns false when a unique index refuses it. */
export async function insertNew<T extends { _id: string }>(collection: Collection<T>, doc: NoInfer<T>): Promise<boolean> {
  for (let attempts = 1; ; attempts++) {
    try {
      await collection.insertOne(doc as mongo.OptionalUnlessRequiredId<T>);
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      if (!isWriteConflict(error) || attempts >= maxAttempts) throw error;
    }
  }
}

/** Picks a free slot from 0 to `limit - 1`; null when all are taken. It picks at random, so that concurrent callers rarely pick the same one. */
export function pickFreeSlot(taken: readonly number[], limit: number): number | null {
  const takenSlots = new Set(taken);
  const freeSlots = Array.from({ length: limit }, (_, slot) => slot).filter((slot) => !takenSlots.has(slot));
  return freeSlots[Math.floor(Math.random() * freeSlots.length)] ?? null;
}

/**
 * The errors of the documents that an unordered `insertMany` refused; the others are inserted. Null if `error` does not tell which are: the driver also throws a
 * `MongoBulkWriteError` when the database does not answer, without errors of documents.
 */
export function findWriteErrors(error: unknown): readonly mongo.WriteError[] | null {
  if (!(error instanceof mongo.MongoBulkWriteError) || error.result.getWriteConcernError()) return null;
  const writeErrors = [error.writeErrors].flat();
  return writeErrors.length > 0 ? writeErrors : null;
}

/** How long a command may take that must have ended by `deadlineMs`, by the process' monotonic clock. Refuses `unavailable` when it is too late. */
export function toTimeoutMs(deadlineMs: number): number {
  const timeoutMs = Math.floor(deadlineMs - performance.now());
  return timeoutMs > 0 ? timeoutMs : refuse('unavailable');
}

/**
 * Waits for a command for at most `timeoutMs`, and then rejects as if the database had not answered: the driver has no such limit. The command may still take
 * effect. Also pass the time as `maxTimeMS`, with which the database gives the command up.
 */
export async function endWithin<T>(timeoutMs: number, command: Promise<T>): Promise<T> {
  command.catch(() => undefined); // it may reject after that
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new mongo.MongoOperationTimeoutError(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([command, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Inserts `docs` as they are, except those that a unique index refuses; if `deadlineMs` is given, by then (`toTimeoutMs`). Returns true when none was refused. */
export async function insertMissing<T extends { _id: string }>(
  collection: Collection<T>,
  docs: readonly NoInfer<T>[],
  deadlineMs?: number,
): Promise<boolean> {
  if (docs.length === 0) return true;
  const maxTimeMS = deadlineMs === undefined ? null : toTimeoutMs(deadlineMs);
  const options = { ordered: false, ...(maxTimeMS === null ? {} : { maxTimeMS }) };
  try {
    const inserting = collection.insertMany(docs as readonly mongo.OptionalUnlessRequiredId<T>[], options);
    await (maxTimeMS === null ? inserting : endWithin(maxTimeMS, inserting));
    return true;
  } catch (error) {
    const writeErrors = findWriteErrors(error) ?? [];
    if (writeErrors.length === 0 || !writeErrors.every(isDuplicateKey)) throw error;
    return false;
  }
}

/**
 * The result of an insert under a limit. `inserted`: inserted now. `exists`: already inserted under its `_id`, by a create that is retried. `full`: no free
 * slot.
 */
export type Inserted<T> = { outcome: 'inserted' | 'exists'; doc: T } | { outcome: 'full' };

/**
 * Inserts `doc` with a free `slot` from 0 to `limit - 1` among the documents of `scope`. The unique index on scope and slot enforces the limit: concurrent
 * inserts cannot exceed it. A crash leaves no counter to repair, because each document holds its own slot.
 */
export async function insertInSlot<T extends { _id: string; slot?: number }>(
  collection: Collection<T>,
  scope: Readonly<Record<string, string>>,
  limit: number,
  doc: Omit<NoInfer<T>, 'slot'> & { _id: string },
): Promise<Inserted<T>> {
  for (;;) {
    const filter = { ...scope, slot: { $gte: 0 } } as Filter<T>;
    const existing = await collection.find(filter).project<{ _id: unknown; slot: number }>({ slot: 1 }).sort({ slot: 1 }).toArray();
    if (existing.some((one) => one._id === doc._id))
      return { outcome: 'exists', doc: (await collection.findOne({ ...scope, _id: doc._id } as Filter<T>)) as T };
    const slot = pickFreeSlot(
      existing.map((one) => one.slot),
      limit,
    );
    if (slot === null) return { outcome: 'full' };
    const newDoc = { ...doc, slot } as T;
    if (await insertNew<T>(collection, newDoc)) return { outcome: 'inserted', doc: newDoc };
  }
}
