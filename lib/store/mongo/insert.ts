import { mongo } from 'mongoose';
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

/** The errors of the documents that an unordered `insertMany` refused; the others are inserted. Null if `error` does not tell which are. */
export const findWriteErrors = (error: unknown): readonly mongo.WriteError[] | null =>
  error instanceof mongo.MongoBulkWriteError && !error.result.getWriteConcernError() ? [error.writeErrors].flat() : null;

/** Inserts `docs` as they are, except those that a unique index refuses. Returns true when none was refused. */
export async function insertMissing<T extends { _id: string }>(
  collection: Collection<T>,
  docs: readonly NoInfer<T>[],
  options: { timeoutMS?: number } = {},
): Promise<boolean> {
  if (docs.length === 0) return true;
  try {
    await collection.insertMany(docs as readonly mongo.OptionalUnlessRequiredId<T>[], { ordered: false, ...options });
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
