import { setImmediate as turn } from 'node:timers/promises';
import type mongoose from 'mongoose';
import { trusted } from './database.ts';

/** A collection. */
type Model<T> = mongoose.Model<T, object, object, { id: string }>;

/** How many documents one query reads. */
const idsMost = 500;

type Found = ReadonlyMap<string, unknown>;

/** What is asked of a collection in this turn of the event loop. */
interface Batch {
  readonly ids: Set<string>;
  readonly found: Promise<Found>;
}

const batches = new WeakMap<object, Batch>();

async function readBatch<T extends { _id: string }>(model: Model<T>, ids: ReadonlySet<string>): Promise<Found> {
  await turn();
  batches.delete(model);
  const all = [...ids];
  const pieces = Array.from({ length: Math.ceil(all.length / idsMost) }, (_, at) => all.slice(at * idsMost, (at + 1) * idsMost));
  const found = await Promise.all(pieces.map((piece) => model.find({ _id: trusted({ $in: piece }) } as object).lean<T[]>()));
  return new Map(found.flat().map((one) => [one._id, one]));
}

/**
 * A document by its id; null when there is none. What is asked of a collection in one turn of the event loop is read in one query: a client that resumes in a
 * thousand servers, or thousands of clients that resume at once, take a few queries.
 */
export async function readById<T extends { _id: string }>(model: Model<T>, id: string): Promise<T | null> {
  let batch = batches.get(model);
  if (!batch) {
    const ids = new Set<string>();
    batch = { ids, found: readBatch(model, ids) };
    batches.set(model, batch);
  }
  batch.ids.add(id);
  return ((await batch.found).get(id) as T | undefined) ?? null;
}

/** Documents by their ids, by id; those that are not there are left out. */
export async function readByIds<T extends { _id: string }>(model: Model<T>, ids: readonly string[]): Promise<T[]> {
  return (await Promise.all(ids.map((id) => readById(model, id)))).filter((one) => one !== null);
}
