import { rm } from 'node:fs/promises';
import { mongo } from 'mongoose';
import { startApi } from '../../apps/api/listen.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { Collection } from '../../lib/store/mongo/database.ts';
import { migrate } from '../../lib/store/mongo/migrate.ts';
import { type ApiPlatform, openApiPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { monitoredUrl, onDatabaseCommand } from './commands.ts';
import { requireDocumented } from './documented.ts';
import { admitWithoutWorker, ignoreManagingWrites } from './intercept.ts';
import { spareDatabases } from './spare-databases.ts';
import { testConfig } from './stores.ts';

/** A response of the API under test: its status, headers, and parsed JSON body. */
export interface Answer<T = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: T;
}

/** An API under test on a separate database. */
export interface TestApi {
  url: string;
  platform: ApiPlatform;
  /** Sends a request; `as` is a whole Authorization value (`Bot …`, `Bearer …`). A string body is sent as it is, any other as JSON. */
  call<T = Record<string, unknown>>(
    method: string,
    path: string,
    options?: { as?: string | undefined; body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer<T>>;
  close(): Promise<void>;
}

/** All collections of a database. */
export const collectionsOf = (db: ApiPlatform['db']): Collection<{ _id: string }>[] =>
  Object.values(db).filter((one): one is Collection<{ _id: string }> => one instanceof mongo.Collection);

/** Deletes all documents of a database, except the settings of its log and the ledger of its migrations. */
async function empty(db: ApiPlatform['db']): Promise<void> {
  const kept = [db.log, db.migrations].map(({ collectionName }) => collectionName);
  const emptied = collectionsOf(db).filter(({ collectionName }) => !kept.includes(collectionName));
  await Promise.all(emptied.map((one) => one.deleteMany({})));
}

/**
 * Deletes everything that a start on this database depends on, so that another test can use it: what belongs to its APP_KEY and log, and its messages, whose
 * newest id is the least for new ones. False if the database cannot be reached.
 */
const forgetStart = ({ meta, log, applications, webhooks, messages }: ApiPlatform['db']): Promise<boolean> =>
  Promise.all([meta, log, applications, webhooks, messages].map((one) => one.deleteMany({}))).then(
    () => true,
    () => false,
  );

/** Starts the API in this process, with an empty database that has its collections and indexes. */
export async function startTestApi(overrides: Record<string, string> = {}): Promise<TestApi> {
  const MONGODB_URL = overrides.MONGODB_URL ?? spareDatabases.take();
  const config = testConfig({ ...overrides, ...(MONGODB_URL && { MONGODB_URL }) });
  const platform = await openApiPlatform(config, createLog('api', config.LOG_LEVEL));
  admitWithoutWorker(platform);
  if (MONGODB_URL && !overrides.MONGODB_URL) await empty(platform.db);
  else await migrate(platform.db, config, () => undefined);
  const api = await startApi(platform, createMetrics('api'));
  const url = `http://127.0.0.1:${api.port}`;
  let closed = false;
  return {
    url,
    platform,
    async call<T>(
      method: string,
      path: string,
      options: { as?: string | undefined; body?: unknown; headers?: Record<string, string> } = {},
    ) {
      const { as, body, headers } = options;
      const sent = new Headers({
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(as ? { Authorization: as } : {}),
        ...headers,
      });
      const bodyText = typeof body === 'string' ? body : JSON.stringify(body);
      const response = await fetch(url + path, { method, headers: sent, ...(body === undefined ? {} : { body: bodyText }) });
      const text = await response.text();
      requireDocumented({
        method,
        path,
        body: bodyText,
        contentType: sent.get('Content-Type') ?? undefined,
        status: response.status,
        headers: response.headers,
        answer: text,
      });
      return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : undefined) as T };
    },
    async close() {
      await api.close();
      const isSpare = !overrides.MONGODB_URL && !closed && (await forgetStart(platform.db));
      await platform.close();
      if (isSpare) spareDatabases.give(config.MONGODB_URL);
      closed = true;
      await rm(config.FILES_DIR, { recursive: true, force: true });
    },
  };
}

/** Starts another API process on the database and Redis data of `api`. */
export const startSecondApi = ({ platform: { config } }: TestApi, overrides: Record<string, string> = {}): Promise<TestApi> =>
  startTestApi({ MONGODB_URL: config.MONGODB_URL, REDIS_PREFIX: config.REDIS_PREFIX, ...overrides });

/** `startTestApi`, or another start, with a worker platform on its stores. No queue runs. */
export async function startTestApiWithWorker<A extends TestApi = TestApi>(
  start = startTestApi as () => Promise<A>,
): Promise<A & { worker: WorkerPlatform }> {
  const api = await start();
  const worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
  return { ...api, worker, close: () => worker.close().then(api.close) };
}

/** `startTestApi` with the names of the commands that it has sent to the database. */
export async function startMonitoredApi(): Promise<TestApi & { commands: string[] }> {
  const api = await startTestApi({ MONGODB_URL: monitoredUrl(testConfig().MONGODB_URL) });
  const commands: string[] = [];
  onDatabaseCommand(api.platform, ({ commandName }) => commands.push(commandName));
  return { ...api, commands };
}

/** `startTestApi` with `ignoreManagingWrites` applied. */
export async function startRacingTestApi(): Promise<TestApi> {
  const api = await startTestApi();
  ignoreManagingWrites(api.platform);
  return api;
}
