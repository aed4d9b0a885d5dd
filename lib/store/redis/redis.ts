import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { Config } from '../../../config/index.ts';
import { readRedisAddress } from '../../../config/redis-address.ts';
import { groupBy } from '../../base/group-by.ts';
import type { Logger } from '../../base/log.ts';
import { firstConnectMs } from '../../base/process.ts';

/** A single Redis or a Redis Cluster. All keys of a command or script are in one hash slot, so both are used alike. */
export type RedisClient = Redis | Cluster;

/** The options of a connection that callers may set. The address comes from the configuration. */
export type ConnectOptions = Omit<RedisOptions, 'replyMapping' | 'host' | 'port'>;

/**
 * Options of a connection that fails at once while Redis is unavailable and queues no commands (docs/guarantees.md#redis-connections). Callers have a fallback.
 */
export const failFast = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 1,
  commandTimeout: 300,
  connectTimeout: 2_000,
  // Without it, a connection without traffic (a dropped route, a stopped proxy) would stay open for many minutes, and every command on it would fail.
  socketTimeout: 2_000,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, 500),
} satisfies ConnectOptions;

/** Multiplies the timeouts of `options` by STORE_TIMEOUT_FACTOR. */
function scaleTimeouts({ STORE_TIMEOUT_FACTOR }: Config, options: ConnectOptions): ConnectOptions {
  const { commandTimeout, connectTimeout, socketTimeout } = options;
  const timeouts = Object.entries({ commandTimeout, connectTimeout, socketTimeout }).flatMap(([name, ms]) =>
    ms === undefined ? [] : [[name, ms * STORE_TIMEOUT_FACTOR] as const],
  );
  return { ...options, ...Object.fromEntries(timeouts) };
}

/** How long after the loss of a connection to a node the cluster is asked which node serves which slots, in milliseconds. */
const slotRefreshDelayMs = 100;
/** How long a node may take to say which node serves which slots, in milliseconds times STORE_TIMEOUT_FACTOR. Then another node is asked. */
const slotRefreshTimeoutMs = 1_000;
/** How long a starting process waits for its connections to all masters, in milliseconds. */
const mastersTimeoutMs = 1_000;

function createCluster(config: Config, kind: string, { enableOfflineQueue, retryStrategy, ...options }: ConnectOptions): Cluster {
  const { nodes, login } = readRedisAddress(config.REDIS_URL);
  const cluster = new Cluster(nodes, {
    ...(enableOfflineQueue === undefined ? {} : { enableOfflineQueue }),
    ...(retryStrategy ? { clusterRetryStrategy: retryStrategy } : {}),
    // A command whose connection ended may have run, so the caller decides whether to retry it. The client handles MOVED, ASK, TRYAGAIN and CLUSTERDOWN itself.
    ...(enableOfflineQueue === false ? { retryDelayOnFailover: 0 } : {}),
    slotsRefreshTimeout: slotRefreshTimeoutMs * config.STORE_TIMEOUT_FACTOR,
    // Keep host names instead of addresses: TLS verifies the name.
    dnsLookup: (host, done) => done(null, host),
    redisOptions: { ...login, ...options, connectionName: `parlance-${kind}` },
  });
  cluster.on('+node', (node: Redis) => {
    // Connect at once, because commands do not wait for a connection. Replicas get no commands, so they need none.
    if (!node.options.readOnly && node.status === 'wait') node.connect().catch(() => undefined);
  });
  cluster.on('-node', () => {
    setTimeout(() => {
      if (cluster.status === 'ready') cluster.refreshSlotsCache();
    }, slotRefreshDelayMs).unref();
  });
  return cluster;
}

/** Creates a connection of `kind`, which connects at once, and again and again until it is closed. */
export function createRedis(config: Config, kind: string, options: ConnectOptions): RedisClient {
  const { isCluster, nodes, login } = readRedisAddress(config.REDIS_URL);
  if (isCluster) return createCluster(config, kind, options);
  return new Redis({ ...nodes[0], ...login, ...options, connectionName: `parlance-${kind}` });
}

/** Logs each loss of the connection once. Calls `onError` with the message of every error. */
function logConnectionLosses(redis: RedisClient, log: Logger, kind: string, onError: (message: string) => void = () => undefined): void {
  let isUp = false;
  for (const event of ['ready', '+node'])
    redis.on(event, () => {
      isUp = true;
    });
  for (const event of ['error', 'node error'])
    redis.on(event, ({ message }: Error) => {
      onError(message);
      if (isUp) log.warn({ kind, err: message }, 'Redis connection lost; reconnecting');
      isUp = false;
    });
}

/** Opens a connection of `kind` to one node of a cluster, or to the single Redis if `node` is null. It reconnects until it is closed. */
export function connectNode(
  config: Config,
  log: Logger,
  kind: string,
  options: ConnectOptions,
  node: { host: string; port: number } | null,
): Redis {
  const { nodes, login } = readRedisAddress(config.REDIS_URL);
  const redis = new Redis({ ...(node ?? nodes[0]), ...login, ...scaleTimeouts(config, options), connectionName: `parlance-${kind}` });
  logConnectionLosses(redis, log, kind);
  return redis;
}

/**
 * Opens a connection of `kind`. Rejects if the first connect takes longer than 5 s (times STORE_TIMEOUT_FACTOR). Later it reconnects by itself and logs each
 * loss once.
 */
export async function openRedis(config: Config, log: Logger, kind: string, options: ConnectOptions = failFast): Promise<RedisClient> {
  const redis = createRedis(config, kind, scaleTimeouts(config, options));
  let lastError = 'no answer';
  logConnectionLosses(redis, log, kind, (message) => {
    lastError = message;
  });
  const timeoutMs = firstConnectMs * config.STORE_TIMEOUT_FACTOR;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      redis.disconnect();
      reject(new Error(`could not connect to Redis within ${timeoutMs / 1000} s: ${lastError}`));
    }, timeoutMs);
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  // The cluster client is ready before its connections to the masters are. If a master is unavailable, this waits for 1 s only.
  for (const deadlineMs = performance.now() + mastersTimeoutMs; listMasters(redis).some(({ status }) => status !== 'ready'); await sleep(5))
    if (performance.now() > deadlineMs) break;
  return redis;
}

/** How long a command that failed on a cluster is retried, and the wait between two tries, in milliseconds. */
const failoverTimeoutMs = 2_000;
const retryDelayMs = 25;

/** Runs `command`. On a cluster that is otherwise connected, retries it for 2 s, in which a node may be replaced. On a single Redis it rejects at once. */
export async function retryDuringFailover<T>(redis: RedisClient, command: () => Promise<T>): Promise<T> {
  for (const deadlineMs = performance.now() + failoverTimeoutMs; ; await sleep(retryDelayMs))
    try {
      return await command();
    } catch (error) {
      if (!(redis instanceof Cluster) || redis.status !== 'ready' || performance.now() > deadlineMs) throw error;
    }
}

/** The connections to Redis, or to the masters of a cluster. */
export const listMasters = (redis: RedisClient): Redis[] => (redis instanceof Cluster ? redis.nodes('master') : [redis]);

/** Calls `listener` when the connection to Redis, or to a node of a cluster, is lost. */
export function onConnectionLost(redis: RedisClient, listener: () => void): void {
  redis.on('close', listener);
  redis.on('-node', listener);
}

/** Groups `items` by the hash tag of the key that `keyOf` returns for each, so that the keys of a group are in one hash slot. */
export function groupBySlot<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  const tagOf = (key: string): string => key.slice(0, key.indexOf('}'));
  return [...groupBy(items, (item) => tagOf(keyOf(item))).values()];
}

/** Reads the values of `keys`, which may be in different slots, in their order. */
export async function readKeys(redis: RedisClient, keys: readonly string[]): Promise<(string | null)[]> {
  const groups = groupBySlot(keys, (key) => key);
  const values = await Promise.all(groups.map((group) => redis.mget(group)));
  if (values.length === 1) return values[0] as (string | null)[];
  const found = new Map(groups.flatMap((group, groupIndex) => group.map((key, index) => [key, values[groupIndex]?.[index] ?? null])));
  return keys.map((key) => found.get(key) ?? null);
}

/** Lua: defines `now`, the time of Redis' clock in milliseconds. */
export const nowLua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** A Lua script bound to a connection: `(keys, args) → reply`. Once Redis knows the script, only its digest is sent. */
export type Script<Reply> = (keys: readonly string[], args: readonly (string | number)[]) => Promise<Reply>;

/**
 * Binds `lua` to `redis` under `name`; with `bytes` its bulk replies are Buffers. On a cluster its PUBLISH becomes SPUBLISH. All keys that a script touches,
 * also those that it builds itself, must be in the hash slot of its first key.
 */
export function bindScript<Reply>(redis: RedisClient, name: string, lua: string, replies: 'text' | 'bytes' = 'text'): Script<Reply> {
  redis.defineCommand(name, { lua: redis instanceof Cluster ? lua.replaceAll("'PUBLISH'", "'SPUBLISH'") : lua });
  const call = Reflect.get(redis, replies === 'bytes' ? `${name}Buffer` : name) as
    | ((count: number, ...rest: (string | number)[]) => Promise<Reply>)
    | undefined;
  if (!call) throw new Error(`script ${name} is not bound`);
  return (keys, args) => call.call(redis, keys.length, ...keys, ...args);
}
