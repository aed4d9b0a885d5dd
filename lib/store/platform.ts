import type { Config } from '../../config/index.ts';
import type { IdSource } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import { type AccessVersions, createAccessVersions } from './access-versions.ts';
import { openKeyedDatabase } from './app-key.ts';
import type { Blobs } from './blobs/store.ts';
import { openBlobs } from './blobs.ts';
import { type Caches, createCaches } from './caches.ts';
import type { Database } from './database.ts';
import { createTakeFlight, type TakeFlight } from './in-flight.ts';
import { createJobPriorities, type JobPriorities, type ReservePriorities } from './job-priorities.ts';
import { type Appender, createAppender } from './log/append.ts';
import { type Connections, createConnections } from './log/connected.ts';
import { createEpochs } from './log/epochs.ts';
import { createKeys, type Keys } from './log/keys.ts';
import { createPresenceChanged, createPresences, type PresenceChanged, type Presences } from './log/presence.ts';
import { createLogReader, type Listener, type LogReader, subscriberOptions } from './log/reader.ts';
import { createLastNumber, createRetain, type LastNumber, type Retain } from './log/retention.ts';
import { createSessions, type Sessions } from './log/sessions.ts';
import { createManagingWrites, type ManagingWrites } from './managing-writes.ts';
import { createMessageOrder, type MessageOrder } from './message-order.ts';
import { createMetricsFeeds, type MetricsFeeds } from './metrics-feed.ts';
import { openIds } from './node-lease.ts';
import { createNudge } from './nudge.ts';
import { createOutbound, type Outbound } from './outbound.ts';
import { type Enqueue, type Handlers, type JobEnded, openConsumers, openProducer, type Producer } from './queue.ts';
import { impatient, openRedis } from './redis.ts';
import { type RedisFacts, readRedisFacts } from './redis-facts.ts';
import { createGate, type Gate } from './throttle.ts';

/** What every process may do: read and write the database, make ids, know versions, ask who is connected. */
export interface Platform extends Connections, Caches {
  readonly config: Config;
  readonly log: Logger;
  readonly db: Database;
  readonly ids: IdSource;
  readonly versions: AccessVersions;
  /** The process' clock, in Unix milliseconds. */
  now: () => number;
  lastNumber: LastNumber;
  /** Whether Redis answers now. */
  redisUp(): boolean;
  /** Round trip to Redis; rejects when it is away. */
  pingRedis(): Promise<void>;
  /** How Redis is set up and how full it is; rejects when it is away. */
  redisFacts(): Promise<RedisFacts>;
  /** Leaves this process' measurements where the operators' pages read them; rejects when Redis is away. */
  readonly feedMetrics: MetricsFeeds['feedMetrics'];
  /** When a worker last said that it lives, in Unix milliseconds; null when none has in the last minute. */
  workerBeatAt(): Promise<number | null>;
  close(): Promise<void>;
}

/** What may also ask for work to be done. */
export interface EnqueuePlatform extends Platform, Pick<Producer, 'enqueue' | 'isQueued' | 'waiting'> {
  /** Puts a job on its queue; a failure is swallowed, as a sweep finds what was not nudged. */
  nudge: (...job: Parameters<Enqueue>) => void;
  /** Shares a queue between accounts: priorities for `enqueue` and `nudge`. */
  readonly reservePriorities: ReservePriorities;
  /** The one way to addresses outside: public ones, and those of OUTBOUND_ALLOW. */
  readonly outbound: Outbound;
  /** Takes a place among the requests that go out, which all processes count together. */
  readonly takeFlight: TakeFlight;
  /** Gives messages their ids, and tells readers which of them can be read without a hole. */
  readonly messageOrder: MessageOrder;
  /** Which writes that manage a server are in flight, in all processes. */
  readonly managingWrites: ManagingWrites;
  /** An id from the clock that message ids come from, for what is shown among messages and not stored; from the process' own while Redis is away. */
  messageId(): Promise<string>;
}

/** What may also keep files. */
export interface FilesPlatform extends EnqueuePlatform {
  readonly blobs: Blobs;
}

/** The API's powers: it asks the gate, keeps files and enqueues; it cannot publish. */
export interface ApiPlatform extends FilesPlatform {
  readonly gate: Gate;
  /** Lets the workers tell of a presence that was changed. */
  readonly presenceChanged: PresenceChanged;
}

/** The worker's powers: it keeps files and appends events to the log. */
export interface WorkerPlatform extends FilesPlatform, Appender {
  readonly presences: Presences;
  readonly retain: Retain;
  readonly metrics: Metrics;
  /** Says that a worker lives. */
  beat(): Promise<void>;
  /** Runs the jobs of every queue until closed. */
  consume(handlers: Handlers<WorkerPlatform>, ended: JobEnded): { close(): Promise<void> };
}

/** A gateway node's powers: it keeps sessions and listens; it neither enqueues nor appends. */
export interface GatewayPlatform extends Platform {
  readonly sessions: Sessions;
  /** Opens the node's ear on the log. */
  listen(nodeId: string, listener: Listener): Promise<LogReader>;
}

/** The operators' powers: they read queues and the measurements of all processes. */
export interface OpsPlatform extends Platform, MetricsFeeds {
  readonly queues: Producer['queues'];
}

interface Opened extends Platform, MetricsFeeds {
  readonly keys: Keys;
  readonly redis: Awaited<ReturnType<typeof openRedis>>;
}

async function openCommon(config: Config, log: Logger, role: string): Promise<Opened> {
  const keys = createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS);
  const redis = await openRedis(config, log, role);
  const db = await openKeyedDatabase(config, log).catch((error: unknown) => {
    redis.disconnect();
    throw error;
  });
  const beatKey = `${keys.partition(0)}worker-beat`;
  const now = (): number => Date.now();
  const { ids, release } = await openIds(redis, keys, db, log, now);
  return {
    config,
    log,
    db,
    keys,
    redis,
    ...createCaches(redis),
    now,
    ids,
    versions: createAccessVersions(redis, keys, log),
    ...createConnections(redis, keys),
    lastNumber: createLastNumber(redis, keys),
    redisUp: () => redis.status === 'ready',
    pingRedis: async () => void (await redis.ping()),
    redisFacts: () => readRedisFacts(redis),
    ...createMetricsFeeds(redis, keys),
    workerBeatAt: async () => {
      const at = await redis.get(beatKey);
      return at === null ? null : Number(at);
    },
    close: async () => {
      await release();
      redis.disconnect();
      await db.close();
    },
  };
}

function withQueue(common: Opened): EnqueuePlatform & Pick<ApiPlatform, 'gate' | 'presenceChanged'> & { jobPriorities: JobPriorities } {
  const { config, log, redis, keys, ids } = common;
  const producer = openProducer(config, log, redis);
  const jobPriorities = createJobPriorities(redis, keys, producer.isEmpty);
  const gate = createGate(redis, keys, ids, common.now);
  return {
    ...common,
    enqueue: producer.enqueue,
    isQueued: producer.isQueued,
    waiting: producer.waiting,
    jobPriorities,
    reservePriorities: jobPriorities.reserve,
    nudge: createNudge(producer.enqueue),
    outbound: createOutbound({ allow: config.OUTBOUND_ALLOW }),
    takeFlight: createTakeFlight(redis, keys),
    gate,
    messageOrder: createMessageOrder(redis, keys, ids, config.STORE_PATIENCE),
    managingWrites: createManagingWrites(redis, keys, config.STORE_PATIENCE),
    presenceChanged: createPresenceChanged(redis, keys),
    messageId: async () => (await gate({ bucket: null, versionsOf: [], wantId: true })).id ?? ids.next(),
    close: async () => {
      await producer.close().catch(() => undefined);
      await common.close();
    },
  };
}

/** Opens the API's platform. `log` is the process' own. */
export async function openApiPlatform(config: Config, log: Logger): Promise<ApiPlatform> {
  const queue = withQueue(await openCommon(config, log, 'api'));
  const blobs = openBlobs(config);
  return {
    ...queue,
    blobs,
    close: async () => {
      blobs.close();
      await queue.close();
    },
  };
}

/** Opens the worker's platform. Appends go over a connection of their own, so that a wait there delays no other command. */
export async function openWorkerPlatform(config: Config, log: Logger, metrics = createMetrics('worker')): Promise<WorkerPlatform> {
  const common = await openCommon(config, log, 'worker');
  const appends = await openRedis(config, log, 'log', { ...impatient, commandTimeout: 2_000 });
  const epochs = createEpochs(appends, common.keys, () => log.error('Redis lost acknowledged events; gateway sessions must start again'));
  const queue = withQueue(common);
  const blobs = openBlobs(config);
  const platform: WorkerPlatform = {
    ...queue,
    blobs,
    ...createAppender(appends, common.keys, epochs, metrics.events),
    retain: createRetain(common.redis, common.keys),
    metrics,
    presences: createPresences(common.redis, common.keys),
    beat: async () => {
      await common.redis.set(`${common.keys.partition(0)}worker-beat`, String(Date.now()), 'EX', 60);
    },
    consume: (handlers, ended) => openConsumers(config, log, queue.jobPriorities, platform, handlers, ended),
    close: async () => {
      appends.disconnect();
      blobs.close();
      await queue.close();
    },
  };
  return platform;
}

/** Opens a gateway node's platform. */
export async function openGatewayPlatform(config: Config, log: Logger): Promise<GatewayPlatform> {
  const common = await openCommon(config, log, 'gateway');
  const epochs = createEpochs(common.redis, common.keys, () =>
    log.error('Redis lost acknowledged events; gateway sessions must start again'),
  );
  return {
    ...common,
    sessions: createSessions(common.redis, common.keys),
    listen: async (nodeId, listener) =>
      createLogReader(common.redis, await openRedis(config, log, 'ear', subscriberOptions), common.keys, epochs, nodeId, listener),
  };
}

/** Opens the operators' platform. */
export async function openOpsPlatform(config: Config, log: Logger): Promise<OpsPlatform> {
  const common = await openCommon(config, log, 'ops');
  const producer = openProducer(config, log, common.redis);
  return {
    ...common,
    queues: producer.queues,
    close: async () => {
      await producer.close().catch(() => undefined);
      await common.close();
    },
  };
}

/** Opens the platform of the operators' command line: it changes documents, and nodes hear of it by the versions alone. */
export const openOperatorPlatform = (config: Config, log: Logger): Promise<Platform> => openCommon(config, log, 'operator');
