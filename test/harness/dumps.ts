import type { Redis } from 'ioredis';
import type { Platform } from '../../lib/store/platform.ts';

async function readKey(redis: Redis, key: string): Promise<unknown> {
  const kind = await redis.type(key);
  if (kind === 'string') return redis.get(key);
  if (kind === 'hash') return redis.hgetall(key);
  if (kind === 'list') return redis.lrange(key, 0, -1);
  if (kind === 'set') return redis.smembers(key);
  if (kind === 'zset') return redis.zrange(key, '0', '-1');
  return kind === 'stream' ? redis.xrange(key, '-', '+') : null;
}

/** All Redis data under `prefix`, including jobs, as text. */
export async function dumpRedis(redis: Redis, prefix: string): Promise<string> {
  const keys = await redis.keys(`*${prefix}*`);
  return JSON.stringify(await Promise.all(keys.map(async (key) => [key, await readKey(redis, key)])));
}

/** All documents of the database, by collection, as text. */
export async function dumpMongo({ db }: Pick<Platform, 'db'>): Promise<string> {
  const models = Object.values(db).filter((one): one is typeof db.messages => 'collection' in one);
  return JSON.stringify(await Promise.all(models.map(async (one) => [one.modelName, await one.collection.find().toArray()])));
}
