import { dirname } from 'node:path';
import { mongo } from 'mongoose';
import { socketFolder } from '../../apps/local/folders.ts';
import { schemas } from '../../lib/store/mongo/database.ts';
import { PostgresConnection } from '../../local-database/postgres/connection.ts';
import { prepareDatabase } from '../harness/migrations.ts';
import { testConfig } from '../harness/stores.ts';
import { populationOf } from './population.ts';
import type { Document } from './shape.ts';

/** A database in which the population is stored and the planner knows about it. */
export interface Installation {
  database: mongo.Db;
  population: ReadonlyMap<string, readonly Document[]>;
  /** Whether the database is DocumentDB. */
  isLocalStore: boolean;
  close(): Promise<void>;
}

/** The folder of the PostgreSQL that a database gateway uses; null if the database is MongoDB. */
function findPostgres(url: string): string | null {
  const socket = decodeURIComponent(/^mongodb:\/\/([^/?]*)/.exec(url)?.[1] ?? '');
  return socket.endsWith('/gateway.sock') ? socketFolder(dirname(dirname(socket))) : null;
}

/** Collects statistics of all collections, which PostgreSQL does by itself only after some seconds. MongoDB needs none. */
async function analyze(url: string, name: string): Promise<void> {
  const socketDir = findPostgres(url);
  if (socketDir === null) return;
  const postgres = await PostgresConnection.open(socketDir);
  try {
    const text = 'SELECT collection_id::text FROM documentdb_api_catalog.collections WHERE database_name = $1';
    for (const [id] of await postgres.query({ name: 'collections', text }, [name]))
      await postgres.query({ name: `analyze_${String(id)}`, text: `ANALYZE documentdb_data.documents_${String(id)}` }, []);
  } finally {
    postgres.release();
  }
}

/** Stores the population in a new database. */
export async function openInstallation(): Promise<Installation> {
  const config = testConfig();
  await prepareDatabase(config);
  const client = await new mongo.MongoClient(config.MONGODB_URL).connect();
  const database = client.db();
  const names = Object.values(schemas).map((schema) => schema.get('collection') as string);
  const population = new Map(names.map((name) => [name, populationOf(name)]));
  for (const [name, docs] of population)
    for (let start = 0; start < docs.length; start += 2_000) await database.collection(name).insertMany(docs.slice(start, start + 2_000));
  await analyze(config.MONGODB_URL, database.databaseName);
  return {
    database,
    population,
    isLocalStore: findPostgres(config.MONGODB_URL) !== null,
    close: async () => {
      await database.dropDatabase();
      await client.close();
    },
  };
}
