import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Child } from './child.ts';
import { tryLock } from './lock.ts';
import { type MongoStore, openMongo } from './mongo.ts';
import { openRedis, type RedisStore } from './redis.ts';
import { noteWriters } from './written-by.ts';

/** The process ids of what runs for a {@link Stores}; absent for what is down, not needed, or not ours. */
export interface StoreProcesses {
  postgres?: number;
  gateway?: number;
  mongod?: number;
  redis?: number;
}

/** A database and a Redis that are up. */
export interface Stores {
  /** For mongoose; without a database name. Empty when only Redis was asked for. */
  mongodbUrl: string;
  /** Empty when only MongoDB was asked for. */
  redisUrl: string;
  /** As they are at the moment it is read. */
  readonly processes: StoreProcesses;
  /** Resolves when it serves again: starts what was killed, at the same address and with the same data. Rejects when it is not ours. */
  restart(name: 'redis' | 'database'): Promise<void>;
  /** Stops in order what was started. */
  close(): Promise<void>;
}

/** What to start and where. */
export interface StoreOptions {
  /** Folder of the data, made when it does not exist. */
  dataDir: string;
  /** True: what was acknowledged outlives a crash of processes and machine. False: quicker, for throw-away data. */
  durable: boolean;
  /** Takes lines of progress; default: nobody. */
  report?: (line: string) => void;
  /** Default: both. */
  only?: 'mongo' | 'redis';
  /** Only stores that this starts, whatever `MONGODB_URL` and `REDIS_URL` name: for tests that kill them. Default false. */
  own?: boolean;
  /** Start again what crashes; default true. */
  supervise?: boolean;
}

/**
 * Gives a MongoDB and a Redis by the chain: those `MONGODB_URL` and `REDIS_URL` name, those installed here, those that can be fetched here.
 * What it starts listens on loopback only, is started again when it crashes, and ends with this process however that ends. Rejects with one
 * line that names the choices.
 */
export async function startStores(options: StoreOptions): Promise<Stores> {
  const { durable, report = () => undefined, only, own = false, supervise = true } = options;
  await mkdir(options.dataDir, { recursive: true, mode: 0o711 });
  const shared = { dataDir: resolve(options.dataDir), durable, own, supervise, report };
  const release = await holdFolder(shared.dataDir, only ? [only] : ['mongo', 'redis']);
  const opening = [only === 'redis' ? nothing : openMongo(shared), only === 'mongo' ? nothing : openRedis(shared)] as const;
  try {
    const [mongo, redis] = await Promise.all(opening);
    if (childrenOf(mongo).length + childrenOf(redis).length === 0) await release();
    else await noteWriters(shared.dataDir, { ...(mongo.writer && { mongo: mongo.writer }), ...(redis.writer && { redis: redis.writer }) });
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
    if (children.length === 0) throw new Error(`the ${name} in use was not started here`);
    for (const child of children) await child.restart();
  }

  async close(): Promise<void> {
    await Promise.all([stop(this.#mongo), stop(this.#redis)]);
    await this.#release();
  }
}

/** Two supervisors of one folder would write over each other's data; the second is refused. */
async function holdFolder(dataDir: string, kinds: ('mongo' | 'redis')[]): Promise<() => Promise<void>> {
  const held: (() => Promise<void>)[] = [];
  const release = async () => {
    for (const one of held.splice(0)) await one();
  };
  for (const kind of kinds) {
    const path = join(dataDir, `${kind}.lock`);
    const one = await tryLock(path);
    if (one) held.push(one);
    else {
      await release();
      throw new Error(`${dataDir} is in use by another process (${path}): stop it, or set DATA_DIR.`);
    }
  }
  return release;
}

/** In the order of starting. */
function childrenOf(store: MongoStore & RedisStore): Child[] {
  return [store.mongod, store.postgres, store.gateway, store.child].filter((child) => child !== undefined);
}

async function stop(store: MongoStore & RedisStore): Promise<void> {
  for (const child of childrenOf(store).toReversed()) await child.stop();
}
