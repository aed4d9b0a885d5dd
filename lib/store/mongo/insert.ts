import type { Model } from 'mongoose';
import { isDuplicate, isLostRace } from './database.ts';

/** A collection whose documents are `T`. */
type Holding<T> = Pick<Model<T>, 'collection' | 'castObject'>;

/** How often an insert is tried if it loses a deadlock. On DocumentDB, two inserts of the same key into a unique index may deadlock. */
const triesMax = 10;

/** Inserts `doc` as it is, without reading or casting it. Returns false when a unique index refuses it. */
export async function insertNew<T extends { _id: string }>(model: Holding<T>, doc: NoInfer<T>): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      await model.collection.insertOne(doc as never);
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      if (!isLostRace(error) || tries >= triesMax) throw error;
    }
  }
}

/** Picks a free slot from 0 to `limit - 1`; null when all are taken. It picks at random, so that concurrent callers rarely pick the same one. */
export function freeSlot(taken: readonly number[], limit: number): number | null {
  const held = new Set(taken);
  const free = Array.from({ length: limit }, (_, slot) => slot).filter((slot) => !held.has(slot));
  return free[Math.floor(Math.random() * free.length)] ?? null;
}

/** Inserts `docs` as they are, except those that a unique index refuses. Returns true when none was refused. */
export async function insertMissing<T extends { _id: string }>(
  model: Holding<T>,
  docs: readonly NoInfer<T>[],
  options: { timeoutMS?: number } = {},
): Promise<boolean> {
  if (docs.length === 0) return true;
  try {
    await model.collection.insertMany(docs as never, { ordered: false, ...options });
    return true;
  } catch (error) {
    const { writeErrors = [], result } = error as { writeErrors?: unknown; result?: { getWriteConcernError(): unknown } };
    const refusals = [writeErrors].flat();
    if (refusals.length === 0 || !refusals.every(isDuplicate) || result?.getWriteConcernError()) throw error;
    return false;
  }
}

/**
 * The result of an insert under a limit. `made`: inserted now. `there`: already inserted under its `_id`, by a create that is retried. `full`: no free slot.
 */
export type Inserted<T> = { end: 'made' | 'there'; doc: T } | { end: 'full' };

/**
 * Inserts `doc` with a free `slot` from 0 to `limit - 1` among the documents of `scope`. The unique index on scope and slot enforces the limit: concurrent
 * inserts cannot exceed it. A crash leaves no counter to repair, because each document holds its own slot.
 */
export async function insertInSlot<T extends { _id: string; slot?: number }>(
  model: Holding<T>,
  scope: Readonly<Record<string, string>>,
  limit: number,
  doc: Omit<NoInfer<T>, 'slot'> & { _id: string },
): Promise<Inserted<T>> {
  for (;;) {
    const held = { ...scope, slot: { $gte: 0 } };
    const found = await model.collection.find(held).project<{ _id: unknown; slot: number }>({ slot: 1 }).sort({ slot: 1 }).toArray();
    if (found.some((one) => one._id === doc._id))
      return { end: 'there', doc: (await model.collection.findOne({ _id: doc._id as never })) as unknown as T };
    const slot = freeSlot(
      found.map((one) => one.slot),
      limit,
    );
    if (slot === null) return { end: 'full' };
    const full = { ...doc, slot } as unknown as T;
    if (await insertNew<T>(model, full)) return { end: 'made', doc: full };
  }
}
