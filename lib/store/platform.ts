import type { Config } from '../../config/index.ts';
import type { Logger } from '../base/log.ts';
import { createMetrics, type Metrics } from '../base/metrics.ts';
import type { OpenIdProvider } from '../outbound/openid-provider.ts';
import { createOutbound, type Outbound } from '../outbound/request.ts';
import { type OpenedPlatform, openCommonPlatform, type Platform } from './common-platform.ts';
import { openBlobs } from './files/blobs.ts';
import type { Blobs } from './files/store.ts';
import { openOpenIdProvider } from './openid.ts';
import { type Consumers, openConsumers } from './queue/consumers.ts';
import { createJobPriorities, type JobPriorities, type ReservePriorities } from './queue/job-priorities.ts';
import { type Handlers, openProducer, type Producer } from './queue/queue.ts';
import { type Acknowledge, createAcknowledge } from './redis/log/acknowledge.ts';
import { type Appender, createAppender } from './redis/log/append.ts';
import { type Confirm, createConfirm } from './redis/log/confirm.ts';
import { createEpochs } from './redis/log/epochs.ts';
import { createLogReader, type LogListener, type LogReader, subscriberOptions } from './redis/log/reader.ts';
import { createExpirePlaces, type ExpirePlaces } from './redis/log/retention.ts';
import type { ConnectNode } from './redis/log/subscriber.ts';
import { createManagingWrites, type ManagingWrites } from './redis/managing-writes.ts';
import { createMessageOrder, type MessageOrder } from './redis/message-order.ts';
import { createPreflight, type Preflight } from './redis/preflight.ts';
import { createPresenceChanged, createPresences, type PresenceChanged, type Presences } from './redis/presence.ts';
import type { ProcessAddresses } from './redis/process-addresses.ts';
import { connectNode, failFast, openRedis } from './redis/redis.ts';
import { type AcquireRequestSlot, createRequestSlots } from './redis/request-slots.ts';
import { createSessions, type Sessions } from './redis/sessions.ts';
import { createWake, type OnWorkEnded, openWakes, type Wake, type WakeHandlers } from './redis/wakes.ts';
import { createWorkerShares, type WorkerShares } from './redis/worker-shares.ts';

export type { Platform } from './common-platform.ts';

/** What adds jobs to the queues. */
interface Jobs extends Pick<Producer, 'enqueue' | 'tryEnqueue' | 'tryRemove' | 'isQueued' | 'countWaiting' | 'hasRoom'> {
  /** Reserves priorities for jobs, so that a queue is shared fairly between accounts. */
  readonly reservePriorities: ReservePriorities;
}

/** The platform of processes that can also enqueue jobs. */
export interface EnqueuePlatform extends Platform {
  readonly jobs: Jobs;
  readonly wake: Wake;
  /** The only client for outbound requests. It connects to public addresses and to those of OUTBOUND_ALLOW. */
  readonly outbound: Outbound;
  /** Acquires a slot for an outbound request; slots are counted over all processes. */
  readonly acquireRequestSlot: AcquireRequestSlot;
  /** Gives messages their ids, and tells readers up to which id they can read without a gap. */
  readonly messageOrder: MessageOrder;
  /** The writes in flight, of all processes, that change a server's settings or members. */
  readonly managingWrites: ManagingWrites;
  /**
   * An id from the clock of message ids, for an item that is shown among messages but not stored. While Redis is unavailable it comes from the process' own
   * clock.
   */
  nextMessageId(): Promise<string>;
}

/** The platform of rules that only wake workers, so that an operator's process, which enqueues nothing, can follow them too. */
export type WakePlatform = Platform & Pick<EnqueuePlatform, 'wake'> & { readonly jobs: Pick<Jobs, 'tryEnqueue'> };

/** The platform of processes that also store files. */
export interface FilesPlatform extends EnqueuePlatform {
  readonly blobs: Blobs;
}

/** The platform of the API: it runs the preflight, stores files and enqueues jobs. It cannot append events. */
export interface ApiPlatform extends FilesPlatform {
  readonly preflight: Preflight;
  /** Marks an account's presence as changed; a worker publishes it. */
  readonly markPresenceChanged: PresenceChanged;
  /** The provider of OpenID Connect; null if none is configured. */
  readonly openIdProvider: OpenIdProvider | null;
}

/**
 * The ids of outbox entries that are relayed but not acknowledged yet, and by partition the epoch in which they were appended. Later entries are appended only
 * in the same epochs.
 */
export interface UnacknowledgedEntries {
  readonly ids: Set<string>;
  readonly epochs: Map<number, number>;
}

/** What appends events to the log, and acknowledges them. */
interface WritableLog extends Appender {
  readonly expirePlaces: ExpirePlaces;
  readonly confirm: Confirm;
  readonly acknowledge: Acknowledge;
  /** By outbox and key, the entries that are relayed but not acknowledged yet. */
  readonly unacknowledged: Map<string, UnacknowledgedEntries>;
}

/** The platform of a worker: it stores files and appends events to the log. */
export interface WorkerPlatform extends FilesPlatform {
  readonly eventLog: WritableLog;
  readonly shares: WorkerShares;
  readonly presences: Presences;
  readonly metrics: Metrics;
  /** Aborted when the worker takes no more jobs. A job that takes long then hands its work back. */
  readonly stopping: AbortSignal;
  /** Runs the jobs of every queue until closed. */
  startConsumers(handlers: Handlers<WorkerPlatform>, onEnded: OnWorkEnded): Consumers;
  /** Does the work that this worker is woken for until closed. */
  startWakes(handlers: WakeHandlers<WorkerPlatform>, onEnded: OnWorkEnded): { close(): Promise<void> };
}

/** The platform of a gateway node: it manages sessions and reads the log. It neither enqueues jobs nor appends events. */
export interface GatewayPlatform extends Platform {
  readonly sessions: Sessions;
  /** Opens the reader through which the node subscribes to the log. */
  openLogReader(nodeId: string, listener: LogListener): Promise<LogReader>;
}

/** The platform of the operators' pages: it reads the queues, and where the processes serve their metrics, and wakes workers after a change. */
export interface OpsPlatform extends WakePlatform, ProcessAddresses {
  readonly queues: Producer['queues'];
}

function createEnqueuePlatform(
  common: OpenedPlatform,
): EnqueuePlatform & Pick<ApiPlatform, 'preflight' | 'markPresenceChanged'> & { jobPriorities: JobPriorities } {
  const { config, log, redis, keys, ids } = common;
  const producer = openProducer(config, log, redis, common.tracing, common.now);
  const jobPriorities = createJobPriorities(redis, keys, producer.isQueueEmpty);
  const preflight = createPreflight(redis, keys, ids, common.now);
  return {
    ...common,
    jobs: { ...producer, reservePriorities: jobPriorities.reserve },
    jobPriorities,
    wake: createWake(redis, keys),
    outbound: createOutbound({ allow: config.OUTBOUND_ALLOW }),
    acquireRequestSlot: createRequestSlots(redis, keys),
    preflight,
    messageOrder: createMessageOrder(redis, keys, ids, config.STORE_TIMEOUT_FACTOR),
    managingWrites: createManagingWrites(redis, keys, config.STORE_TIMEOUT_FACTOR),
    markPresenceChanged: createPresenceChanged(redis, keys),
    nextMessageId: async () => (await preflight({ bucket: null, versionsOf: [], needsId: true })).id ?? ids.next(),
    close: async () => {
      await producer.close().catch(() => undefined);
      await common.close();
    },
  };
}

/** Opens the API's platform. `log` is the logger of the process. */
export async function openApiPlatform(config: Config, log: Logger): Promise<ApiPlatform> {
  const queue = createEnqueuePlatform(await openCommonPlatform(config, log, 'api'));
  const blobs = openBlobs(config);
  return {
    ...queue,
    blobs,
    openIdProvider: openOpenIdProvider(config, log),
    close: async () => {
      blobs.close();
      await queue.close();
    },
  };
}

/** Logs that Redis has lost acknowledged events. */
const createLossLogger = (log: Logger) => (): void => log.error('Redis lost acknowledged events; clients must start new gateway sessions');

/** Opens the worker's platform. Appends and confirmations each have their own connection, so that a wait there delays no other command. */
export async function openWorkerPlatform(config: Config, log: Logger, metrics = createMetrics('worker')): Promise<WorkerPlatform> {
  const common = await openCommonPlatform(config, log, 'worker');
  const appendConnection = await openRedis(config, log, 'log', { ...failFast, commandTimeout: 2_000 });
  const confirmConnection = await openRedis(config, log, 'confirm', { ...failFast, commandTimeout: 5_000 });
  const epochs = createEpochs(appendConnection, common.keys, createLossLogger(log), common.logState);
  const confirm = createConfirm(confirmConnection, common.keys, common.logState, epochs);
  const queue = createEnqueuePlatform(common);
  const blobs = openBlobs(config);
  const stopping = new AbortController();
  const platform: WorkerPlatform = {
    ...queue,
    blobs,
    eventLog: {
      ...createAppender(appendConnection, common.keys, epochs, metrics.events),
      expirePlaces: createExpirePlaces(common.redis, common.keys, epochs),
      confirm,
      acknowledge: createAcknowledge(confirm),
      unacknowledged: new Map(),
    },
    metrics,
    stopping: stopping.signal,
    presences: createPresences(common.redis, common.keys),
    shares: createWorkerShares(common.redis, common.keys),
    startConsumers(handlers, onEnded) {
      const consumers = openConsumers(config, log, queue.jobPriorities, platform, handlers, onEnded);
      return {
        ...consumers,
        close: async () => {
          stopping.abort();
          await consumers.close();
        },
      };
    },
    startWakes(handlers, onEnded) {
      const connect: ConnectNode = (node) => connectNode(config, log, 'wakes', subscriberOptions, node);
      return openWakes(
        common.redis,
        common.keys,
        connect,
        platform.shares,
        (name, data, ...run) => handlers[name](platform, data, ...run),
        onEnded,
      );
    },
    close: async () => {
      appendConnection.disconnect();
      confirmConnection.disconnect();
      blobs.close();
      await queue.close();
    },
  };
  return platform;
}

/** How many entries of access data a gateway node caches. They are used for handshakes only; the node keeps the access data of its sessions elsewhere. */
const maxCachedByGateway = 500;

/** Opens a gateway node's platform. */
export async function openGatewayPlatform(config: Config, log: Logger): Promise<GatewayPlatform> {
  const common = await openCommonPlatform(config, log, 'gateway', maxCachedByGateway);
  const epochs = createEpochs(common.redis, common.keys, createLossLogger(log), common.logState);
  return {
    ...common,
    sessions: createSessions(common.redis, common.keys),
    openLogReader: async (nodeId, listener) =>
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
  const common = await openCommonPlatform(config, log, 'ops');
  const producer = openProducer(config, log, common.redis, common.tracing, common.now);
  return {
    ...common,
    queues: producer.queues,
    jobs: producer,
    wake: createWake(common.redis, common.keys),
    close: async () => {
      await producer.close().catch(() => undefined);
      await common.close();
    },
  };
}

/**
 * Opens the platform of the operators' command line. It changes documents; other processes notice that by the access versions, and the workers' sweeps find
 * the events and removals, because it wakes nobody.
 */
export async function openOperatorPlatform(config: Config, log: Logger): Promise<WakePlatform> {
  return { ...(await openCommonPlatform(config, log, 'operator')), wake: () => undefined, jobs: { tryEnqueue: () => undefined } };
}
