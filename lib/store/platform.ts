import type { Config } from '../../config/index.ts';
import type { Logger } from '../base/log.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import { createOutbound, type Outbound } from '../outbound/request.ts';
import { type OpenedPlatform, openCommon, type Platform } from './common-platform.ts';
import { openBlobs } from './files/blobs.ts';
import type { Blobs } from './files/store.ts';
import { createJobPriorities, type JobPriorities, type ReservePriorities } from './queue/job-priorities.ts';
import { type Enqueue, type Handlers, type JobEnded, openConsumers, openProducer, type Producer } from './queue/queue.ts';
import { createResidents, createWake } from './queue/residents.ts';
import { createNudge } from './queue/wake.ts';
import { type Acknowledge, createAcknowledge } from './redis/log/acknowledge.ts';
import { type Appender, createAppender } from './redis/log/append.ts';
import { type Confirm, createConfirm } from './redis/log/confirm.ts';
import { createEpochs } from './redis/log/epochs.ts';
import { createEvidence } from './redis/log/evidence.ts';
import { createPresenceChanged, createPresences, type PresenceChanged, type Presences } from './redis/log/presence.ts';
import { createLogReader, type Listener, type LogReader, subscriberOptions } from './redis/log/reader.ts';
import { createRetain, type Retain } from './redis/log/retention.ts';
import { createSessions, type Sessions } from './redis/log/sessions.ts';
import type { ConnectNode } from './redis/log/subscriber.ts';
import { createManagingWrites, type ManagingWrites } from './redis/managing-writes.ts';
import { createMessageOrder, type MessageOrder } from './redis/message-order.ts';
import type { MetricsFeeds } from './redis/metrics-feed.ts';
import { connectNode, impatient, openRedis } from './redis/redis.ts';
import { createTakeFlight, type TakeFlight } from './redis/request-slots.ts';
import { createGate, type Gate } from './redis/throttle.ts';

export type { Platform } from './common-platform.ts';

/** The platform of processes that can also enqueue jobs. */
export interface EnqueuePlatform extends Platform, Pick<Producer, 'enqueue' | 'isQueued' | 'waiting'> {
  /** Wakes a worker for a job, or adds the job to its queue. Failures are ignored, because a sweep finds the work later. */
  nudge: (...job: Parameters<Enqueue>) => void;
  /** Reserves priorities for `enqueue` and `nudge`, so that a queue is shared fairly between accounts. */
  readonly reservePriorities: ReservePriorities;
  /** The only client for outbound requests. It connects to public addresses and to those of OUTBOUND_ALLOW. */
  readonly outbound: Outbound;
  /** Acquires a slot for an outbound request; slots are counted over all processes. */
  readonly takeFlight: TakeFlight;
  /** Gives messages their ids, and tells readers up to which id they can read without a gap. */
  readonly messageOrder: MessageOrder;
  /** The writes in flight, of all processes, that change a server's settings or members. */
  readonly managingWrites: ManagingWrites;
  /** An id from the clock of message ids, for an item that is shown among messages but not stored. While Redis is away it comes from the process' own clock. */
  messageId(): Promise<string>;
}

/** The platform of processes that also store files. */
export interface FilesPlatform extends EnqueuePlatform {
  readonly blobs: Blobs;
}

/** The platform of the API: it runs the preflight, stores files and enqueues jobs. It cannot append events. */
export interface ApiPlatform extends FilesPlatform {
  readonly gate: Gate;
  /** Marks an account's presence as changed; a worker publishes it. */
  readonly presenceChanged: PresenceChanged;
}

/**
 * The ids of outbox entries that are relayed but not acknowledged yet, and by partition the epoch in which they were appended. Later entries are appended only
 * in the same epochs.
 */
export interface Relayed {
  readonly ids: Set<string>;
  readonly during: Map<number, number>;
}

/** The platform of a worker: it stores files and appends events to the log. */
export interface WorkerPlatform extends FilesPlatform, Appender {
  readonly presences: Presences;
  readonly retain: Retain;
  readonly confirm: Confirm;
  readonly acknowledge: Acknowledge;
  /** By outbox and key, the entries that are relayed but not acknowledged yet. */
  readonly relayed: Map<string, Relayed>;
  readonly metrics: Metrics;
  /** Records a heartbeat of this worker. */
  beat(): Promise<void>;
  /** Runs the jobs of every queue until closed. */
  consume(handlers: Handlers<WorkerPlatform>, ended: JobEnded): { close(): Promise<void> };
}

/** The platform of a gateway node: it manages sessions and reads the log. It neither enqueues jobs nor appends events. */
export interface GatewayPlatform extends Platform {
  readonly sessions: Sessions;
  /** Opens the reader through which the node subscribes to the log. */
  listen(nodeId: string, listener: Listener): Promise<LogReader>;
}

/** The platform of the operators' pages: it reads the queues and the metrics of all processes. */
export interface OpsPlatform extends Platform, MetricsFeeds {
  readonly queues: Producer['queues'];
}

function withQueue(
  common: OpenedPlatform,
): EnqueuePlatform & Pick<ApiPlatform, 'gate' | 'presenceChanged'> & { jobPriorities: JobPriorities } {
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
    nudge: createNudge(createWake(redis, keys), producer.enqueue),
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

/** Opens the API's platform. `log` is the logger of the process. */
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

/** Logs that Redis has lost acknowledged events. */
const logLoss = (log: Logger) => (): void => log.error('Redis lost acknowledged events; gateway sessions must start again');

/** Opens the worker's platform. Appends and confirmations each have their own connection, so that a wait there delays no other command. */
export async function openWorkerPlatform(config: Config, log: Logger, metrics = createMetrics('worker')): Promise<WorkerPlatform> {
  const common = await openCommon(config, log, 'worker');
  const appends = await openRedis(config, log, 'log', { ...impatient, commandTimeout: 2_000 });
  const confirms = await openRedis(config, log, 'confirm', { ...impatient, commandTimeout: 5_000 });
  const evidence = createEvidence(common.db);
  const epochs = createEpochs(appends, common.keys, logLoss(log), evidence);
  const confirm = createConfirm(confirms, common.keys, evidence, epochs);
  const queue = withQueue(common);
  const blobs = openBlobs(config);
  const platform: WorkerPlatform = {
    ...queue,
    blobs,
    ...createAppender(appends, common.keys, epochs, metrics.events),
    retain: createRetain(common.redis, common.keys, epochs),
    confirm,
    acknowledge: createAcknowledge(confirm),
    relayed: new Map(),
    metrics,
    presences: createPresences(common.redis, common.keys),
    beat: async () => {
      await common.redis.set(`${common.keys.partition(0)}worker-beat`, String(Date.now()), 'EX', 60);
    },
    consume(handlers, ended) {
      const connect: ConnectNode = (node) => connectNode(config, log, 'wakes', subscriberOptions, node);
      const residents = createResidents(common.redis, common.keys, connect, (name, data, following) =>
        handlers[name](platform, data, following),
      );
      const consumers = openConsumers(config, log, queue.jobPriorities, platform, handlers, ended, residents.stay);
      return { close: async () => void (await Promise.all([consumers.close(), residents.close()])) };
    },
    close: async () => {
      appends.disconnect();
      confirms.disconnect();
      blobs.close();
      await queue.close();
    },
  };
  return platform;
}

/** How many entries of access data a gateway node caches. They are used for handshakes only; the node keeps the access data of its sessions elsewhere. */
const cachedByGateway = 500;

/** Opens a gateway node's platform. */
export async function openGatewayPlatform(config: Config, log: Logger): Promise<GatewayPlatform> {
  const common = await openCommon(config, log, 'gateway', cachedByGateway);
  const epochs = createEpochs(common.redis, common.keys, logLoss(log), createEvidence(common.db));
  return {
    ...common,
    sessions: createSessions(common.redis, common.keys),
    listen: async (nodeId, listener) =>
      createLogReader(
        common.redis,
        (node) => connectNode(config, log, 'subscriber', subscriberOptions, node),
        common.keys,
        epochs,
        nodeId,
        listener,
      ),
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

/** Opens the platform of the operators' command line. It changes documents; other processes notice that by the access versions only. */
export const openOperatorPlatform = (config: Config, log: Logger): Promise<Platform> => openCommon(config, log, 'operator');
