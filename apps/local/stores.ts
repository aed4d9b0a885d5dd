import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { recordWriters } from './data-writers.ts';
import { tryLock } from './lock.ts';
import { type MongoStore, openMongo } from './mongo.ts';
import { openRedis, type RedisStore } from './redis.ts';
import type { SupervisedProcess } from './supervised-process.ts';

/** The process ids of a {@link Stores}; absent for a process that is down, not needed, or not started here. */
export interface StoreProcesses {
  postgres?: number;
  gateway?: number;
  mongod?: number;
  redis?: number;
}

/** A running database and Redis. */
export interface Stores {
  /** The URL for mongoose, without a database name. Empty if only Redis was requested. */
  mongodbUrl: string;
  /** Empty if only MongoDB was requested. */
  redisUrl: string;
  /** The process ids at the moment of reading. */
  readonly processes: StoreProcesses;
  /**
   * Starts the processes that were killed, at the same address and with the same data, and resolves when they serve. Rejects if they were not started here.
   */
  restart(name: 'redis' | 'database'): Promise<void>;
  /** Gracefully stops the processes that were started. */
  close(): Promise<void>;
}

/** What to start and where. */
export interface StoreOptions {
  /** Folder of the data; created if it does not exist. */
  dataDir: string;
  /** If true, acknowledged writes survive a crash of processes and machine. If false, stores are faster; for disposable data. */
  durable: boolean;
  /** Receives lines of progress; default: discarded. */
  report?: (line: string) => void;
  /** The only store to open; default: both. */
  only?: 'mongo' | 'redis';
  /** Starts both stores even if `MONGODB_URL` and `REDIS_URL` are set: for tests that kill them. Default false. */
  own?: boolean;
  /** Restart processes that crash; default true. */
  supervise?: boolean;
}

/** Adds the database name `parlance` to a MongoDB address without a path. */
export const withDatabase = (url: string): string => url.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?(\?.*)?$/, '$1/parlance$2');

/**
 * Opens a MongoDB and a Redis, in this order: those in `MONGODB_URL` and `REDIS_URL`, installed programs, downloaded programs. Started processes listen on
 * loopback or a unix socket only, are restarted when they crash, and end with this process however it ends. Rejects with a one-line error that names the
 * choices.
 */
export async function startStores(options: StoreOptions): Promise<Stores> {
  const { durable, report = () => undefined, only, own = false, supervise = true } = options;
  await mkdir(options.dataDir, { recursive: true, mode: 0o711 });
  const shared = { dataDir: resolve(options.dataDir), durable, own, supervise, report };
  const release = await lockFolder(shared.dataDir, only ? [only] : ['mongo', 'redis']);
  const opening = [only === 'redis' ? nothing : openMongo(shared), only === 'mongo' ? nothing : openRedis(shared)] as const;
  try {
    const [mongo, redis] = await Promise.all(opening);
    if (childrenOf(mongo).length + childrenOf(redis).length === 0) await release();
    else
      await recordWriters(shared.dataDir, { ...(mongo.writer && { mongo: mongo.writer }), ...(redis.writer && { redis: redis.writer }) });
    return new RunningStores(mongo, redis, release);
  } catch (error) {
    for (const result of await Promise.allSettled(opening)) if (result.status === 'fulfilled') await stop(result.value);
    await release();
    throw error;
  }
}

const nothing = Promise.resolve<MongoStore & RedisStore>({ url: '' });

class RunningStores implements Stores {
  readonly mongodbUrl: string;
  readonly redisUrl: string;
  readonly #mongo: MongoStore;
  readonly #redis: RedisStore;

  readonly #release: () => Promise<void>;

  constructor(mongo: MongoStore, redis: RedisStore, release: () => Promise<void>) {
    this.#release = release;
    this.#mongo = mongo;
    this.#redis = redis;
    this.mongodbUrl = mongo.url;
    this.redisUrl = redis.url;
  }

  get processes(): StoreProcesses {
    const { postgres, gateway, mongod } = this.#mongo;
    const found = { postgres: postgres?.pid, gateway: gateway?.pid, mongod: mongod?.pid, redis: this.#redis.child?.pid };
    return Object.fromEntries(Object.entries(found).filter(([, pid]) => pid !== undefined));
  }

  async restart(name: 'redis' | 'database'): Promise<void> {
    const children = childrenOf(name === 'redis' ? this.#redis : this.#mongo);
    if (children.length === 0) throw new Error(`cannot restart the ${name}: it was not started here`);
    for (const child of children) await child.start();
  }

  async close(): Promise<void> {
    await Promise.all([stop(this.#mongo), stop(this.#redis)]);
    await this.#release();
  }
}

/** Locks a folder. Two supervisors of one folder would overwrite each other's data, so the second one is refused. */
async function lockFolder(dataDir: string, kinds: ('mongo' | 'redis')[]): Promise<() => Promise<void>> {
  const releases: (() => Promise<void>)[] = [];
  const release = async () => {
    for (const one of releases.splice(0)) await one();
  };
  for (const kind of kinds) {
    const path = join(dataDir, `${kind}.lock`);
    const one = await tryLock(path);
    if (one) releases.push(one);
    else {
      await release();
      throw new Error(`${dataDir} is in use by another process (${path}). Stop that process, or set DATA_DIR to another folder.`);
    }
  }
  return release;
}

/** The processes of a store, in the order in which they start. */
function childrenOf(store: MongoStore & RedisStore): SupervisedProcess[] {
  return [store.mongod, store.postgres, store.gateway, store.child].filter((child) => child !== undefined);
}

async function stop(store: MongoStore & RedisStore): Promise<void> {
  for (const child of childrenOf(store).toReversed()) await child.stop();
}
