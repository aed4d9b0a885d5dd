import { Redis } from 'ioredis';
import type { Platform } from '../../lib/store/platform.ts';

async function readKey(redis: Redis, key: string): Promise<unknown> {
  const kind = await redis.type(key);
  if (kind === 'string') return redis.get(key);
  if (kind === 'hash') return redis.hgetall(key);
  if (kind === 'list') return redis.lrange(key, 0, -1);
  if (kind === 'set') return redis.smembers(key);
  if (kind === 'zset') return redis.zrange(key, '0', '-1', 'WITHSCORES');
  return kind === 'stream' ? redis.xrange(key, '-', '+') : null;
}

/** All Redis data under `prefix`, including jobs, as text. */
export async function dumpRedis(redis: Redis, prefix: string): Promise<string> {
  const keys = await redis.keys(`*${prefix}*`);
  return JSON.stringify(await Promise.all(keys.map(async (key) => [key, await readKey(redis, key)])));
}

/** All documents of the database, by collection, as text. */
export async function dumpMongo({ db: models }: Pick<Platform, 'db'>): Promise<string> {
  const { db } = models.accounts;
  const all = (await db.listCollections().toArray()).map(async ({ name }) => [name, await db.collection(name).find().toArray()]);
  return JSON.stringify(await Promise.all(all));
}

/** All data of a platform in the database and in Redis, as text. */
export async function dumpStores(platform: Pick<Platform, 'db' | 'config'>): Promise<{ database: string; redis: string }> {
  const client = new Redis(platform.config.REDIS_URL);
  try {
    return { database: await dumpMongo(platform), redis: await dumpRedis(client, platform.config.REDIS_PREFIX) };
  } finally {
    client.disconnect();
  }
}
