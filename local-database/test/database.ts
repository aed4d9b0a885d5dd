import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose, { type Connection } from 'mongoose';
import { socketFolder } from '../../apps/local/folders.ts';
import { type Stores, startStores } from '../../apps/local/stores.ts';

/** A document of any shape with a string or number as its id. */
export type Doc = mongoose.mongo.BSON.Document & { _id: string | number };

/** A disposable DocumentDB with an open connection. */
export interface TestDatabase {
  stores: Stores;
  connection: Connection;
  /** Folder of Postgres' socket, to connect without the gateway. */
  socketDir: string;
  /** Returns a new collection. */
  fresh: () => ReturnType<typeof collectionOf>;
  close: () => Promise<void>;
}

/** Starts a database; `durable` and `supervise` as for {@link startStores}. */
export async function openDatabase({ durable = false, supervise = true } = {}): Promise<TestDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'parlance-test-'));
  process.env.PARLANCE_MONGO = 'documentdb';
  const stores = await startStores({ dataDir, durable, supervise, only: 'mongo' });
  const connection = await mongoose.createConnection(stores.mongodbUrl, { dbName: 'test', maxPoolSize: 100 }).asPromise();
  let count = 0;
  return {
    stores,
    connection,
    socketDir: socketFolder(join(dataDir, 'documentdb')),
    fresh: () => collectionOf(connection, `c${++count}`),
    close: async () => {
      await connection.close();
      await stores.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Calls `work` several times at once, with 0, 1, … */
export function atOnce<T>(times: number, work: (index: number) => Promise<T>): Promise<PromiseSettledResult<T>[]> {
  return Promise.allSettled(Array.from({ length: times }, (_, index) => work(index)));
}

/** The error that a promise rejects with. Throws if it resolves. */
export async function refusal(work: Promise<unknown>): Promise<Record<string, unknown> & Error> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error('the promise resolved');
  return error as Record<string, unknown> & Error;
}

function collectionOf(connection: Connection, name: string) {
  if (!connection.db) throw new Error('not connected');
  return connection.db.collection<Doc>(name);
}
