import { mongo } from 'mongoose';
import { type Collection, isUnavailable, isWriteConflict } from './database.ts';
import { endWithin, findWriteErrors, toTimeoutMs } from './insert.ts';

/** While this many inserts into a collection run, further documents wait for one to end, but not longer than `maxWaitMs` milliseconds. */
const maxRunning = 2;
const maxWaitMs = 20;
/** How many documents one command inserts at most. */
const maxDocuments = 100;
/** For how long after a fault each document is inserted alone, in milliseconds. A shard that is away then fails only its own documents. */
const aloneMs = 5_000;

type Document = { _id: string };
interface Waiting {
  doc: Document;
  deadlineMs: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** The inserts into one collection. */
interface Inserts {
  waiting: Waiting[];
  running: number;
  aloneUntilMs: number;
}

const insertsByCollection = new WeakMap<object, Inserts>();

async function insertAlone(collection: Collection<Document>, { doc, deadlineMs, resolve, reject }: Waiting): Promise<boolean> {
  try {
    const maxTimeMS = toTimeoutMs(deadlineMs);
    await endWithin(maxTimeMS, collection.insertOne(doc, { maxTimeMS }));
    resolve();
    return true;
  } catch (error) {
    reject(error);
    return !isUnavailable(error);
  }
}

/** Those documents that a failed command did not insert although the database is available. Null if it is not, or if the outcome is unknown. */
function findRefused(error: unknown, group: readonly Waiting[]): readonly Waiting[] | null {
  const writeErrors = findWriteErrors(error);
  if (writeErrors) return writeErrors.map(({ index }) => group[index] as Waiting);
  const isUnknown = error instanceof mongo.MongoBulkWriteError || (isUnavailable(error) && !isWriteConflict(error));
  return isUnknown ? null : group;
}

/** Inserts documents by one command; those that it refuses once more alone, which gives each its own error. False when the database was unavailable. */
async function insertTogether(collection: Collection<Document>, group: readonly Waiting[]): Promise<boolean> {
  let maxTimeMS = Number.POSITIVE_INFINITY;
  const inTime = group.filter(({ deadlineMs, reject }) => {
    try {
      maxTimeMS = Math.min(maxTimeMS, toTimeoutMs(deadlineMs));
      return true;
    } catch (error) {
      reject(error);
      return false;
    }
  });
  if (inTime.length === 0) return true;
  let refused: readonly Waiting[] = [];
  try {
    const docs = inTime.map(({ doc }) => doc);
    await endWithin(maxTimeMS, collection.insertMany(docs, { ordered: false, maxTimeMS }));
  } catch (error) {
    const found = findRefused(error, inTime);
    if (!found) {
      for (const { reject } of inTime) reject(error);
      return false;
    }
    refused = found;
  }
  for (const one of inTime) if (!refused.includes(one)) one.resolve();
  return !(await Promise.all(refused.map((one) => insertAlone(collection, one)))).includes(false);
}

function startInsert(collection: Collection<Document>, inserts: Inserts): void {
  const group = inserts.waiting.splice(0, performance.now() < inserts.aloneUntilMs ? 1 : maxDocuments);
  if (group.length === 0) return;
  inserts.running++;
  const insert = group[1] ? insertTogether(collection, group) : insertAlone(collection, group[0] as Waiting);
  void insert.then((isAvailable) => {
    inserts.running--;
    if (!isAvailable) inserts.aloneUntilMs = performance.now() + aloneMs;
    startInsert(collection, inserts);
  });
}

/**
 * Inserts a document. Documents that come while two inserts into the collection run are inserted together by the next command, which costs the database a third
 * of single inserts. The insert has ended by `deadlineMs` (`toTimeoutMs`). Rejects with the error of this document alone, also if others of the command are
 * refused; if the database does not answer, with the error of the command.
 */
export function insertGrouped<T extends Document>(collection: Collection<T>, doc: NoInfer<T>, deadlineMs: number): Promise<void> {
  const untyped = collection as unknown as Collection<Document>;
  const inserts = insertsByCollection.get(collection) ?? { waiting: [], running: 0, aloneUntilMs: 0 };
  insertsByCollection.set(collection, inserts);
  return new Promise((resolve, reject) => {
    const waiting = { doc, deadlineMs, resolve, reject };
    inserts.waiting.push(waiting);
    if (inserts.running < maxRunning || performance.now() < inserts.aloneUntilMs) startInsert(untyped, inserts);
    else setTimeout(() => inserts.waiting.includes(waiting) && startInsert(untyped, inserts), maxWaitMs);
  });
}
