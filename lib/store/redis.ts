import { Redis, type RedisOptions } from 'ioredis';
import type { Config } from '../../config/index.ts';
import type { Logger } from '../base/log.ts';
import { firstConnectMs } from '../base/process.ts';

/** Options of a connection that leave the address and the shape of replies to us. */
export type ConnectOptions = Omit<RedisOptions, 'replyMapping' | 'host' | 'port'>;

/** Options of a connection that fails at once while Redis is away instead of queueing: callers have their own way on (quality 4, Known traps). */
export const impatient = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 1,
  commandTimeout: 300,
  connectTimeout: 2_000,
  // Without it a connection that has gone silent (a dropped route, a stopped proxy) would be kept, and every command on it fail, for many minutes.
  socketTimeout: 2_000,
  retryStrategy: (times: number) => Math.min(50 * times, 500),
} satisfies ConnectOptions;

/** The options with their waits as often as STORE_PATIENCE says. */
function patient({ STORE_PATIENCE }: Config, options: ConnectOptions): ConnectOptions {
  const { commandTimeout, connectTimeout, socketTimeout } = options;
  const waits = Object.entries({ commandTimeout, connectTimeout, socketTimeout }).flatMap(([name, ms]) =>
    ms === undefined ? [] : [[name, ms * STORE_PATIENCE] as const],
  );
  return { ...options, ...Object.fromEntries(waits) };
}

/** Opens a connection of `kind` and waits for the first connect for 5 s (times STORE_PATIENCE); later losses heal by themselves and are logged once each. */
export async function openRedis(config: Config, log: Logger, kind: string, options: ConnectOptions = impatient): Promise<Redis> {
  const redis = new Redis(config.REDIS_URL, { ...patient(config, options), connectionName: `parlance-${kind}`, lazyConnect: true });
  let up = false;
  let fault = 'no answer';
  redis.on('ready', () => {
    up = true;
  });
  redis.on('error', (error: Error) => {
    fault = error.message;
    if (up) log.warn({ kind, err: fault }, 'redis connection lost');
    up = false;
  });
  const waitMs = firstConnectMs * config.STORE_PATIENCE;
  redis.connect().catch(() => undefined); // of a first connection that fails; it goes on trying
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => {
      redis.disconnect();
      reject(new Error(`Redis was not reached in ${waitMs / 1000} s: ${fault}`));
    }, waitMs);
    redis.once('ready', () => {
      clearTimeout(late);
      resolve();
    });
  });
  return redis;
}

/** Lua: `now`, in milliseconds of Redis' clock. */
export const nowLua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** A Lua script bound to a connection: `(keys, args) → reply`. It is sent by its digest once Redis knows it. */
export type Script<Reply> = (keys: readonly string[], args: readonly (string | number)[]) => Promise<Reply>;

/** Binds `lua` to `redis` under `name`; with `bytes` its bulk replies are Buffers. */
export function bindScript<Reply>(redis: Redis, name: string, lua: string, replies: 'text' | 'bytes' = 'text'): Script<Reply> {
  redis.defineCommand(name, { lua });
  const commands = redis as unknown as Record<string, (count: number, ...rest: (string | number)[]) => Promise<Reply>>;
  const call = commands[replies === 'bytes' ? `${name}Buffer` : name];
  if (!call) throw new Error(`script ${name} is not bound`);
  return (keys, args) => call.call(redis, keys.length, ...keys, ...args);
}
