import type { Model } from 'mongoose';
import { isDuplicate } from './database.ts';

/** A collection whose documents are `T`. */
type Holding<T> = Pick<Model<T>, 'collection' | 'castObject'>;

/** Inserts `doc` as it is, without reading or casting; false when a unique index refuses it. */
export async function insertNew<T extends { _id: string }>(model: Holding<T>, doc: NoInfer<T>): Promise<boolean> {
  try {
    await model.collection.insertOne(doc as never);
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

/** How an insert under a cap ended: made now, already there under its `_id` (a create taken up after a crash), or no place was left. */
export type Inserted<T> = { end: 'made' | 'there'; doc: T } | { end: 'full' };

/**
 * Inserts `doc` with a free `slot` from 0 to `limit - 1` among the documents of `scope`. The unique index on scope and slot is the cap: it cannot be
 * passed by a race, and a crash leaves nothing to put right, as the counted thing itself holds its place.
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
    const taken = new Set(found.map((one) => one.slot));
    const free = Array.from({ length: limit }, (_, slot) => slot).filter((slot) => !taken.has(slot));
    if (free.length === 0) return { end: 'full' };
    // Any free place, so that creates at the same moment rarely want the same one.
    const full = { ...doc, slot: free[Math.floor(Math.random() * free.length)] } as unknown as T;
    if (await insertNew<T>(model, full)) return { end: 'made', doc: full };
  }
}
