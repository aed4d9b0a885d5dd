import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { forEachLimit } from '../../base/for-each-limit.ts';
import { shareRuns } from '../../base/shared-run.ts';
import { withSharedFields } from '../../store/mongo/database.ts';
import { pagesByTime } from '../../store/mongo/due.ts';
import { type Outbox, pendingFrom } from '../../store/mongo/models/outbox.ts';
import type { Platform, UnacknowledgedEntries, WorkerPlatform } from '../../store/platform.ts';
import {
  type AppendOptions,
  type AppendResult,
  ChangesPending,
  ChangesRelayed,
  type EpochsByPartition,
  findChangeMs,
  type NewEntry,
} from '../../store/redis/log/append.ts';
import type { Appended } from '../../store/redis/log/confirm.ts';
import { changeDelayMs } from '../../store/redis/server-changes.ts';
import type { RunState } from '../../store/redis/wakes.ts';
import { accountOutbox } from '../accounts/outbox.ts';
import { batchLifeMs, type OutboxDocuments, type PendingBatch } from '../events/outboxes.ts';
import type { PlacedEvent } from '../events/placed.ts';
import { appendTraced } from '../events/traces.ts';
import { interactionOutbox } from '../interactions/outbox.ts';
import { newMessageAgeMs } from '../messages/new-messages.ts';
import { messageOutbox } from '../messages/outbox.ts';
import { serverOutbox } from '../servers/outbox.ts';

/** Every outbox: the messages of a channel; a server with its members and channels; an account; an interaction. */
const sources = { channel: messageOutbox, server: serverOutbox, account: accountOutbox, interaction: interactionOutbox };

/** The name of an outbox. The wake that relays it is `relay-<name>`. */
export type OutboxName = keyof typeof sources;

/** How many events of a key, and of all keys that are relayed together, may await their acknowledgement before further ones are read. */
const unacknowledgedMax = { ofKey: 500, ofAll: 2_000 };

/**
 * Appends the pending events of one key to the log, batch by batch, until there are none or `eventsMax` were appended (docs/delivery.md#relay). Returns a
 * function that waits for their acknowledgement; the key may be relayed again meanwhile. Repeated and concurrent runs append nothing twice, because Redis has a
 * mark for each event. Rejects while Redis or the database is unavailable; the events stay pending.
 */
export async function startRelay(
  platform: WorkerPlatform,
  outbox: OutboxName,
  key: string,
  options: RelayOptions = {},
): Promise<() => Promise<void>> {
  for (let tries = 1; ; tries++)
    try {
      return await startOneRelay(platform, outbox, key, options);
    } catch (error) {
      if (!(error instanceof ChangesRelayed) || tries === readsMax) throw error;
      await sleep(tries);
    }
}

/**
 * `state`, `payloads`: those of a wake (`WakeHandler`). `isPatient`: whether to wait for changes of the server that are under way. `eventsMax`: after how
 * many events to stop.
 */
interface RelayOptions {
  state?: RunState | undefined;
  payloads?: readonly unknown[];
  isPatient?: boolean;
  eventsMax?: number;
}

/** How often events are read because another worker relays events of the same server. */
const readsMax = 20;

/** By partition, the older epoch of both. */
const findOldestEpochs = (some: EpochsByPartition, others: EpochsByPartition): EpochsByPartition =>
  new Map([...others, ...some].map(([partition, epoch]) => [partition, Math.min(epoch, others.get(partition) ?? epoch)]));

async function startOneRelay(
  platform: WorkerPlatform,
  outbox: OutboxName,
  key: string,
  { state, payloads = [], isPatient = true, eventsMax = Number.POSITIVE_INFINITY }: RelayOptions,
): Promise<() => Promise<void>> {
  const name = `${outbox} ${key}`;
  const relayed: UnacknowledgedEntries = platform.eventLog.unacknowledged.get(name) ?? { ids: new Set(), epochs: new Map() };
  const epochs = state?.epochs ?? new Map<number, number>();
  const acknowledgements: Promise<unknown>[] = [];
  const batches = sources[outbox].read(platform, key, { relayed: relayed.ids, state, payloads, isPatient });
  for (let eventCount = 0; ; ) {
    const startMs = performance.now();
    const next = eventCount < eventsMax ? await batches.next() : { done: true as const };
    if (next.done) return async () => void (await Promise.all(acknowledgements));
    const { events, entryIds: ids = [], earlier = [] } = next.value;
    for (const { partition, appendEpoch } of earlier) epochs.set(partition, appendEpoch);
    const appendedBatch = await relayBatch(platform, next.value, startMs, findOldestEpochs(relayed.epochs, epochs));
    eventCount += events.length;
    for (const { partition, appendEpoch } of appendedBatch.appended) {
      epochs.set(partition, appendEpoch);
      if (ids.length > 0) relayed.epochs.set(partition, appendEpoch);
    }
    for (const id of ids) relayed.ids.add(id);
    if (ids.length > 0) platform.eventLog.unacknowledged.set(name, relayed);
    const acknowledged = appendedBatch.acknowledged.finally(() => {
      for (const id of ids) relayed.ids.delete(id);
      if (relayed.ids.size > 0) return;
      relayed.epochs.clear();
      if (platform.eventLog.unacknowledged.get(name) === relayed) platform.eventLog.unacknowledged.delete(name);
    });
    acknowledged.catch(() => undefined); // handled where it is waited for
    acknowledgements.push(acknowledged);
    if ((ids.length === 0 && acknowledgements.length > 1) || relayed.ids.size > unacknowledgedMax.ofKey)
      await Promise.all(acknowledgements.splice(0));
  }
}

/** By server, what relays its changes before other events of it. A process relays a server once for several callers. */
const changeRelays = new WeakMap<WorkerPlatform, LRUCache<string, () => Promise<unknown>>>();

/** Relays the changes of a server that have ended; does not wait for those under way, nor for acknowledgements. */
function relayChanges(platform: WorkerPlatform, serverId: string): Promise<unknown> {
  const relays = changeRelays.get(platform) ?? new LRUCache({ max: 1_000 });
  changeRelays.set(platform, relays);
  const relay =
    relays.get(serverId) ??
    shareRuns(async () => {
      const acknowledge = await startRelay(platform, 'server', serverId, { isPatient: false });
      acknowledge().catch(() => undefined); // the sweep relays them again
    });
  relays.set(serverId, relay);
  return relay();
}

/** Appends events of one place, those of a server after the events of its earlier changes, which it relays first. */
async function appendAfterChanges(
  platform: WorkerPlatform,
  place: string,
  events: readonly NewEntry[],
  { untilMs, ...options }: AppendOptions & { untilMs: number },
): Promise<AppendResult> {
  const isOfChanges = options.relayedMs !== undefined || !place.startsWith('server:');
  for (let afterChanges: AppendOptions['afterChanges'] = isOfChanges ? undefined : 'now'; ; )
    try {
      if (performance.now() > untilMs) throw new Error('reading a batch of events took too long; it will be read again');
      return await platform.eventLog.append(place, events, { ...options, afterChanges });
    } catch (error) {
      if (!(error instanceof ChangesPending)) throw error;
      if (afterChanges === 'now') ({ afterChanges } = error);
      else await sleep(changeDelayMs);
      await relayChanges(platform, error.serverId).catch((fault: unknown) => {
        if (!(fault instanceof ChangesRelayed)) throw fault; // another worker relays them
      });
    }
}

/**
 * Appends events in their order, each once however often it is called; those of a server after the events of its earlier changes, which it relays first. Returns
 * what `confirm` needs before they are acknowledged. Rejects while Redis is unavailable, when an epoch of `requiredEpochs` has ended, after `untilMs`, by the
 * process' monotonic clock, and for events of changes (`relayedMs`) with `ChangesRelayed`; some events may have been appended by then. A SERVER_CREATE gets the
 * number of the MEMBER_ADD of its join, which comes before it.
 */
export async function appendEvents(
  platform: WorkerPlatform,
  events: readonly PlacedEvent[],
  { requiredEpochs, relayedMs, untilMs = Number.POSITIVE_INFINITY }: Omit<AppendOptions, 'afterChanges'> & { untilMs?: number } = {},
): Promise<Appended[]> {
  const appended: Appended[] = [];
  const numbers = new Map<string, number>();
  const toNewEntry = ({ place: _place, joinEventId, ...event }: PlacedEvent): NewEntry => {
    const number = joinEventId === undefined ? undefined : numbers.get(joinEventId);
    return event.join && number ? { ...event, join: { ...event.join, number } } : event;
  };
  let fromMs = relayedMs;
  for (let start = 0; start < events.length; ) {
    const { place } = events[start] as PlacedEvent;
    const next = events.findIndex((event, at) => at > start && event.place !== place);
    const run = events.slice(start, next === -1 ? events.length : next);
    const isOfServer = place.startsWith('server:');
    const options = { requiredEpochs, relayedMs: isOfServer ? fromMs : undefined, untilMs };
    const result = await appendAfterChanges(platform, place, run.map(toNewEntry), options);
    if (fromMs !== undefined && isOfServer) fromMs = findChangeMs(run, fromMs);
    run.forEach(({ id }, index) => numbers.set(id, result.numbers[index] ?? 0));
    appended.push(...result.appended);
    start += run.length;
  }
  return appended;
}

/** A batch that was appended, and its pending acknowledgement. */
interface AppendedBatch {
  appended: readonly Appended[];
  acknowledged: Promise<void>;
}

/**
 * Appends a batch to the log, as `appendEvents`. `startMs` is a moment before the batch was read, by the process' monotonic clock: if the process was paused
 * since, it rejects and leaves the batch to the worker that took over. Of events of changes, `relayedMs` shows that.
 */
export async function relayBatch(
  platform: WorkerPlatform,
  pending: PendingBatch,
  startMs: number,
  requiredEpochs?: AppendOptions['requiredEpochs'],
): Promise<AppendedBatch> {
  const { events, broadcast, relayedMs } = pending;
  const untilMs = relayedMs === undefined ? startMs + batchLifeMs : Number.POSITIVE_INFINITY;
  const appended = await appendTraced(platform, pending, startMs, (traced) =>
    appendEvents(platform, traced, { requiredEpochs, relayedMs, untilMs }),
  );
  await pending.onAppended?.();
  if (broadcast) await platform.eventLog.broadcast(broadcast);
  // The marks stay for a while after the acknowledgement. They prevent a second append by a worker that read these events before and was paused, or after a
  // crash of the database undoes the acknowledgement. Marks that Redis lost are set again first, before later events of the key may be appended.
  const acknowledged = pending.acknowledge(appended).then(() => platform.eventLog.expireMarks(events));
  acknowledged.catch(() => undefined); // handled where it is awaited
  return { appended, acknowledged };
}

/** Relays and acknowledges the pending events of one key, as `startRelay` says. */
export const relayEvents = async (platform: WorkerPlatform, outbox: OutboxName, key: string): Promise<void> =>
  (await startRelay(platform, outbox, key))();

const countUnacknowledged = ({ eventLog: { unacknowledged } }: WorkerPlatform): number => {
  let count = 0;
  for (const { ids } of unacknowledged.values()) count += ids.size;
  return count;
};

/**
 * Relays the pending events of several keys, at most `concurrency` keys and `eventsMax` events of each, and resolves when they are acknowledged. Their
 * acknowledgements are awaited together, because they are written together. A key for which `isWanted` is false when its turn comes is left out. Returns the error
 * of each key that failed; the others are relayed.
 */
export async function relayKeys(
  platform: WorkerPlatform,
  outbox: OutboxName,
  keys: readonly string[],
  { concurrency, eventsMax, isWanted = () => true }: { concurrency: number; eventsMax?: number; isWanted?: (key: string) => boolean },
): Promise<Map<string, unknown>> {
  const failures = new Map<string, unknown>();
  const unacknowledged = new Set<Promise<void>>();
  await forEachLimit(keys, concurrency, async (key) => {
    if (!isWanted(key)) return;
    const fail = (error: unknown): void => void failures.set(key, error);
    const waitForAcknowledgement = await startRelay(platform, outbox, key, eventsMax === undefined ? {} : { eventsMax }).catch(fail);
    if (!waitForAcknowledgement) return;
    const acknowledged = waitForAcknowledgement()
      .catch(fail)
      .finally(() => unacknowledged.delete(acknowledged));
    unacknowledged.add(acknowledged);
    while (unacknowledged.size > 0 && countUnacknowledged(platform) > unacknowledgedMax.ofAll) await Promise.race(unacknowledged);
  });
  await Promise.all(unacknowledged);
  return failures;
}

/** How old pending events are when the sweep relays them, in milliseconds: their job was lost or is late. */
const sweepAfterMs = 2_000;
/** How many documents one query of the sweep reads, and how many events of a key it relays at a time, before it turns to other keys. */
const sweepDocumentsMax = 1_000;
const sweepEventsMax = 1_000;

/**
 * Finds the keys of an outbox whose events have been pending for too long, page by page, in the order of their oldest events. Each query is short and each page
 * is small, however many events are pending. A key with many events can be on several pages.
 */
export async function* findOverdueKeys(platform: WorkerPlatform, outbox: OutboxName): AsyncGenerator<string[], void> {
  const before = new Date(platform.now() - sweepAfterMs);
  for (const { collection, keyField } of sources[outbox].documents) {
    const documents = withSharedFields<Outbox & Partial<Record<typeof keyField, string>>>(platform.db[collection]);
    const pages = pagesByTime('outboxAt', sweepDocumentsMax, async (from, $nin) => {
      const found = await documents
        .find({ ...pendingFrom(from), _id: { $nin } }, { projection: { [keyField]: 1, outboxAt: 1 } })
        .sort({ outboxAt: 1 })
        .limit(sweepDocumentsMax)
        .batchSize(sweepDocumentsMax)
        .toArray();
      return found.flatMap(({ outboxAt, ...document }) => (outboxAt && outboxAt < before ? { ...document, outboxAt } : []));
    });
    for await (const overdue of pages) yield [...new Set(overdue.map((document) => document[keyField] as string))];
  }
}

/**
 * Relays the overdue events of one outbox directly, without the queue: those of the keys that this worker owns. A key that failed is not tried again in this
 * run, and delays no other. Throws the first error at the end.
 */
export async function sweepOutbox(platform: WorkerPlatform, outbox: OutboxName): Promise<void> {
  // A share can move to another worker during a long run, and a worker that ends has none.
  const options = { concurrency: sources[outbox].sweepConcurrency, eventsMax: sweepEventsMax, isWanted: platform.shares.isOwner };
  const failedKeys = new Set<string>();
  let firstError: unknown;
  for await (const found of findOverdueKeys(platform, outbox)) {
    const keys = found.filter((key) => platform.shares.isOwner(key) && !failedKeys.has(key));
    for (const [key, error] of await relayKeys(platform, outbox, keys, options)) {
      firstError ??= error;
      failedKeys.add(key);
    }
    if (!platform.isRedisUp() || platform.shares.hasEnded()) break; // nothing can be relayed, or others do it
  }
  if (failedKeys.size > 0) throw firstError;
}

/** How many documents with pending events are counted at most in each collection. */
const countedMax = 1_000;

/** What waits to be relayed: the number of documents with pending events, and the age of the oldest event in milliseconds, 0 if there is none. */
interface Waiting {
  count: number;
  ageMs: number;
}

/** Measures what waits to be relayed; counts at most 1,000 documents of each collection. For the operators' metrics. */
export async function measureWaiting(platform: Platform): Promise<Waiting> {
  const { db, now } = platform;
  const documents = Object.values(sources).flatMap((source): readonly OutboxDocuments[] => source.documents);
  const found = await Promise.all(
    documents.map(({ collection }) =>
      withSharedFields<Outbox>(db[collection])
        .find<{ outboxAt: Date }>({ outboxAt: { $exists: true } }, { projection: { _id: 0, outboxAt: 1 } })
        .sort({ outboxAt: 1 })
        .limit(countedMax)
        .batchSize(countedMax)
        .toArray(),
    ),
  );
  const ages = found.flatMap(([oldest]) => (oldest ? now() - oldest.outboxAt.getTime() : []));
  return { count: found.flat().length, ageMs: Math.max(0, await newMessageAgeMs(platform), ...ages) };
}
