import type { Config } from '../../config/index.ts';
import type { Logger } from '../base/log.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import type { Blobs } from './blobs/store.ts';
import { openBlobs } from './blobs.ts';
import { type OpenedPlatform, openCommon, type Platform } from './common-platform.ts';
import { createTakeFlight, type TakeFlight } from './in-flight.ts';
import { createJobPriorities, type JobPriorities, type ReservePriorities } from './job-priorities.ts';
import { type Acknowledge, createAcknowledge } from './log/acknowledge.ts';
import { type Appender, createAppender } from './log/append.ts';
import { type Confirm, createConfirm } from './log/confirm.ts';
import { createEpochs } from './log/epochs.ts';
import { createEvidence } from './log/evidence.ts';
import { createPresenceChanged, createPresences, type PresenceChanged, type Presences } from './log/presence.ts';
import { createLogReader, type Listener, type LogReader, subscriberOptions } from './log/reader.ts';
import { createRetain, type Retain } from './log/retention.ts';
import { createSessions, type Sessions } from './log/sessions.ts';
import type { ConnectNode } from './log/subscriber.ts';
import { createManagingWrites, type ManagingWrites } from './managing-writes.ts';
import { createMessageOrder, type MessageOrder } from './message-order.ts';
import type { MetricsFeeds } from './metrics-feed.ts';
import { createNudge } from './nudge.ts';
import { createOutbound, type Outbound } from './outbound.ts';
import { type Enqueue, type Handlers, type JobEnded, openConsumers, openProducer, type Producer } from './queue.ts';
import { connectNode, impatient, openRedis } from './redis.ts';
import { createResidents, createWake } from './residents.ts';
import { createGate, type Gate } from './throttle.ts';

export type { Platform } from './common-platform.ts';

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

/** Outbox entries that were relayed and are about to be acknowledged, and in which epochs that was: those after them follow in the same ones only. */
export interface Relayed {
  readonly ids: Set<string>;
  readonly during: Map<number, number>;
}

/** The worker's powers: it keeps files and appends events to the log. */
export interface WorkerPlatform extends FilesPlatform, Appender {
  readonly presences: Presences;
  readonly retain: Retain;
  readonly confirm: Confirm;
  readonly acknowledge: Acknowledge;
  /** By outbox and key: what was relayed and is about to be acknowledged. */
  readonly relayed: Map<string, Relayed>;
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

/** Logs that acknowledged events are gone. */
const logLoss = (log: Logger) => (): void => log.error('Redis lost acknowledged events; gateway sessions must start again');

/** Opens the worker's platform. Appends go over a connection of their own, so that a wait there delays no other command. */
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

/** How many credentials and servers a gateway node caches: those of the handshakes of the moment. What its sessions need it holds itself. */
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

/** Opens the platform of the operators' command line: it changes documents, and nodes hear of it by the versions alone. */
export const openOperatorPlatform = (config: Config, log: Logger): Promise<Platform> => openCommon(config, log, 'operator');
